#include "cli/sim/calibrate_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <ostream>
#include <utility>
#include <vector>

#include "base/terminal/progress.h"
#include "base/text/json_string.h"
#include "base/text/text.h"
#include "base/text/wording.h"
#include "engine/scheduler/scheduler.h"
#include "sim/forecast/calibration.h"

namespace muster {

namespace {

constexpr double kLeastShare = 0.75;
constexpr double kMostShare = 0.85;
constexpr int kMostDrives = 1'000;
// Unless --every says otherwise: enough to go by, and a large trace takes minutes and not hours.
constexpr std::size_t kEnoughAsked = 2'000;
constexpr std::size_t kMostEvery = 25;

std::vector<Newcomer> history_of(const Trace& trace) {
  std::vector<Newcomer> history;
  history.reserve(trace.jobs.size());
  for (const TraceJob& job : trace.jobs) {
    JobSpec spec;
    spec.gpus = job.gpus;
    spec.user = UserId(job.user);
    spec.name = NameId(job.name);
    history.push_back({job.submit, spec, job.duration});
  }
  return history;
}

// As a live manager has it: run times are not told but learnt.
Engine engine_for(const Cluster& cluster, const SchedulerParts& parts) {
  PlannerOptions wanted;
  wanted.parts = parts;
  MadePlanner made = make_planner(cluster, wanted);
  EngineOptions options;
  options.pooling = made.pooling;
  options.estimates = EstimateSource::Kind::kHistory;
  return {cluster, std::move(made.planner), options};
}

bool as_promised(const CalibrationReport& report) {
  return report.asked == 0 || (report.share() >= kLeastShare && report.share() <= kMostShare);
}

double percent_of(std::size_t part, std::size_t all) {
  return 100.0 * static_cast<double>(part) / static_cast<double>(all);
}

std::string report_text(const CalibrationReport& report) {
  if (report.asked == 0) return "nobody had to wait: nothing to judge\n";
  std::string text = fmt::format(
      "the 80% band held {:.1f}% of {} starts ({:.1f}% were earlier, {:.1f}% later): {}\n\n",
      percent_of(report.inside, report.asked), grouped(report.asked),
      percent_of(report.before, report.asked), percent_of(report.after, report.asked),
      as_promised(report) ? "as promised" : "not as promised");
  const auto add = [&](const char* what, const std::string& value) {
    text += fmt::format("{:<30}{:>10}\n", what, value);
  };
  add("jobs", grouped(report.jobs));
  add("started at once", grouped(report.at_once));
  add("asked about", grouped(report.asked));
  add("inside the band", grouped(report.inside));
  add("before it", grouped(report.before));
  add("after it", grouped(report.after));
  add("median wait", short_duration(report.wait));
  add("median width of the band", short_duration(report.width));
  add("median miss of \"likely\"", short_duration(report.miss));
  add("held by the drives alone",
      fmt::format("{:.1f}%", percent_of(report.raw_inside, report.asked)));
  return text;
}

std::string in_json(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

}  // namespace

void CalibrateCommand::add_to(Command app) {
  command_ = app.add_subcommand("calibrate", "how good forecasts of starts are, on a trace");
  command_.add_option("--trace", trace_, "workload file").required();
  trace_options_.add_to(command_);
  command_
      .add_option("--cluster", cluster_, "file, or SERVERSxGPUS[,cpus=,mem=,storage=,racks=,gpu=]")
      .capture_default_str();
  command_.add_option("--policy", policy_, "who is next").capture_default_str();
  command_
      .add_option(
          "--every", every_,
          fmt::format("of the jobs that wait, ask about one in so many (default: so that of {} "
                      "jobs all are asked about, of twice as many half; {} at most)",
                      grouped(kEnoughAsked), kMostEvery))
      .check_range(1, std::numeric_limits<int>::max());
  command_.add_option("--drives", drives_, "futures imagined for each answer")
      .check_range(1, kMostDrives)
      .capture_default_str();
  command_.add_flag("--json", json_, "print numbers for programs");
  command_.footer(
      "Exit status: 0 if the band that promises 80% held 75 to 85% of the starts, otherwise 1.\n"
      "Example:\n  muster calibrate --trace jobs.csv --cluster 80x8 --policy fifo");
}

int CalibrateCommand::run(Streams streams) {
  const Refusal empty =
      command_.refuse_empty({"--trace", "--format", "--throughputs", "--cluster", "--policy"});
  if (empty) return complain(streams, *empty);
  SchedulerParts parts;
  parts.policy = policy_;
  if (const Refusal refusal = check_parts(parts)) {
    return complain(streams, "--policy: " + refusal->message);
  }
  const Result<ClusterFile> file = load_cluster(cluster_, streams.err);
  if (!file.ok()) return complain(streams, file.error());
  const Result<ProfileTable> profiles = load_profiles("", streams.err);
  if (!profiles.ok()) return complain(streams, profiles.error());
  const Result<Trace> trace = load_trace(trace_, trace_options_, profiles.value());
  if (!trace.ok()) return complain(streams, trace.error());
  for (const std::string& note : trace.value().notes) streams.err << "note: " << note << '\n';

  const Cluster cluster(file.value().topology, profiles.value());
  const std::size_t jobs = trace.value().jobs.size();
  CalibrationOptions options;
  options.every = every_ > 0 ? static_cast<std::size_t>(every_)
                             : std::clamp<std::size_t>(jobs / kEnoughAsked, 1, kMostEvery);
  options.eta.most_drives = drives_;
  catch_interrupts();
  ProgressBar bar("calibrating");
  options.progress = [&bar](std::size_t done, std::size_t total) {
    bar.update(done, total);
    return !interrupted();
  };
  const CalibrationReport report =
      calibrate(engine_for(cluster, parts), history_of(trace.value()), options);
  bar.finish();
  streams.out << (json_ ? report_json(report, trace.value(), options) : report_text(report));
  if (interrupted()) return kExitInterrupted;
  return as_promised(report) ? kExitDone : kExitFailed;
}

std::string CalibrateCommand::report_json(const CalibrationReport& report, const Trace& trace,
                                          const CalibrationOptions& options) const {
  const auto judged = [&](const std::string& value) { return report.asked == 0 ? "null" : value; };
  const double share = report.asked == 0 ? 0 : report.share();
  return fmt::format(
      "{{\n  \"trace\": {},\n  \"cluster\": {},\n  \"policy\": {},\n  \"every\": {},\n"
      "  \"drives\": {},\n  \"jobs\": {},\n  \"at_once\": {},\n  \"asked\": {},\n"
      "  \"inside\": {},\n  \"before\": {},\n  \"after\": {},\n  \"raw_inside\": {},\n"
      "  \"share\": {},\n  \"as_promised\": {},\n  \"wait_p50_s\": {},\n"
      "  \"width_p50_s\": {},\n  \"miss_p50_s\": {}\n}}\n",
      in_json(trace.source), in_json(cluster_), in_json(policy_), options.every,
      options.eta.most_drives, report.jobs, report.at_once, report.asked, report.inside,
      report.before, report.after, report.raw_inside, judged(fmt::format("{:.6f}", share)),
      judged(as_promised(report) ? "true" : "false"), judged(seconds_text(report.wait.us())),
      judged(seconds_text(report.width.us())), judged(seconds_text(report.miss.us())));
}

}  // namespace muster
