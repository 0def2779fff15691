#include "sim/results/result_files.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/file/atomic_file.h"
#include "base/file/csv_row.h"
#include "base/text/wording.h"
#include "base/types/check.h"
#include "base/types/enum_names.h"
#include "base/types/time.h"
#include "sim/results/gpu_tracks.h"
#include "sim/results/summary_json.h"

namespace muster {

namespace {

constexpr EnumNames<JobResult, JobResult::kRejected> kFateNames({"finished", "killed", "unfinished",
                                                                 "failed", "rejected"});
constexpr EnumNames<SpanEnd, SpanEnd::kHeld> kEndNames({"changed", "finished", "killed", "failed",
                                                        "stopped", "moved", "held"});

void write_jobs(AtomicFile& file, const SimResult& result, const OvertakingResult& overtaking,
                const Trace& trace) {
  MUSTER_CHECK(result.jobs.size() == trace.jobs.size());
  file.append(
      "job_id,tenant,user,name,model,gpus,submit_s,start_s,end_s,jct_s,wait_s,run_s,"
      "preemptions,migrations,state,wait_fair_share_s,wait_fragmentation_s,wait_order_s,"
      "wait_backoff_s,over_part_on_arrival,overtaking,failures,last_failure,lost_gpu_s,gpu_s\n");
  constexpr std::array<std::string_view, 3> kVerdicts = {"", "harmless", "harmful"};
  CsvRow row;
  for (std::size_t i = 0; i < result.jobs.size(); ++i) {
    const JobOutcome& outcome = result.jobs[i];
    const TraceJob& job = trace.jobs[i];
    row.text(job.id);
    row.text(trace.tenants[job.tenant]);
    row.text(trace.users[job.user]);
    row.text(trace.names[job.name]);
    row.text(trace.models[job.model]);
    row.count(job.gpus);
    row.millionths(outcome.submit.us());
    const bool started = outcome.start != Instant::never();
    started ? row.millionths(outcome.start.us()) : row.nothing();
    const bool finished = outcome.fate == JobResult::kFinished;
    const bool ended = outcome.has_ended();
    ended ? row.millionths(outcome.end.us()) : row.nothing();
    finished ? row.millionths(outcome.jct().us()) : row.nothing();
    ended ? row.millionths(outcome.wait().us()) : row.nothing();
    row.millionths(outcome.run.us());
    row.count(outcome.preemptions);
    row.count(outcome.migrations);
    row.text(kFateNames[outcome.fate]);
    for (const Duration part : outcome.waiting.by_cause) {
      ended ? row.millionths(part.us()) : row.nothing();
    }
    row.count(outcome.waiting.over_part_on_arrival ? 1 : 0);
    row.text(kVerdicts[static_cast<std::size_t>(overtaking.jobs[i])]);
    row.count(outcome.failures);
    row.text(outcome.last_failure ? info_of(*outcome.last_failure).key : "");
    row.millionths(outcome.lost_gpu_us);
    row.millionths(outcome.gpu_us);
    row.write_to(file);
  }
}

void write_leases(AtomicFile& file, const SimResult& result, const Trace& trace,
                  const Topology& topology) {
  file.append("job_id,server,gpus,start_s,end_s,cpus,mem_gb,speed,ended,reason\n");
  CsvRow row;
  std::string gpus;
  for (const LeaseSpan& span : result.spans) {
    MUSTER_CHECK(span.job.index() < trace.jobs.size());
    row.text(trace.jobs[span.job.index()].id);
    row.text(topology.node(span.node).name);
    gpus.clear();
    for (std::uint64_t left = span.slots; left != 0; left &= left - 1) {
      if (!gpus.empty()) gpus += ' ';
      append_int(gpus, std::countr_zero(left));
    }
    row.text(gpus);
    row.millionths(span.begin.us());
    row.millionths(span.end.us());
    row.millionths(cpus_in_millionths(span.cpu_milli));
    row.millionths(gb_in_millionths(span.mem_mib));
    row.millionths(in_millionths(span.speed));
    row.text(kEndNames[span.ended]);
    row.text(span.reason ? info_of(*span.reason).key : "");
    row.write_to(file);
  }
}

void write_timeline(AtomicFile& file, const SimResult& result) {
  file.append("time_s,busy_gpus,cpus,mem_gb,running,waiting,speed\n");
  CsvRow row;
  for (const TimelinePoint& point : result.timeline) {
    row.millionths(point.at.us());
    row.count(point.busy_gpus);
    row.millionths(cpus_in_millionths(point.cpu_milli));
    row.millionths(gb_in_millionths(point.mem_mib));
    row.count(point.running);
    row.count(point.waiting);
    row.millionths(in_millionths(point.speed));
    row.write_to(file);
  }
}

}  // namespace

MaybeError write_run(const std::string& dir, const SimResult& result, const Summary& summary,
                     const RunLabel& label, const Trace& trace, const Topology& topology) {
  if (MaybeError refusal = make_directory(dir)) return refusal;
  const std::filesystem::path folder(dir);

  AtomicFile jobs(folder / "jobs.csv");
  write_jobs(jobs, result, summary.waiting.overtaking, trace);
  if (MaybeError refusal = jobs.close()) return refusal;

  AtomicFile leases(folder / "leases.csv");
  write_leases(leases, result, trace, topology);
  if (MaybeError refusal = leases.close()) return refusal;

  AtomicFile timeline(folder / "timeline.csv");
  write_timeline(timeline, result);
  if (MaybeError refusal = timeline.close()) return refusal;

  AtomicFile tracks(folder / "trace.perfetto.json");
  write_gpu_tracks(tracks, result, trace, topology);
  if (MaybeError refusal = tracks.close()) return refusal;

  AtomicFile numbers(folder / "summary.json");
  numbers.append(summary_json(summary, label));
  if (MaybeError refusal = numbers.close()) return refusal;

  for (AtomicFile* file : {&jobs, &leases, &timeline, &tracks, &numbers}) {
    if (MaybeError refusal = file->publish()) return refusal;
  }
  return std::nullopt;
}

}  // namespace muster
