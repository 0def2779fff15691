#include "workload/history/run_history.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "base/file/text_file.h"
#include "base/text/text.h"
#include "engine/model/topology.h"
#include "workload/history/named_csv.h"
#include "workload/history/notes.h"
#include "workload/history/run_leases.h"

namespace muster {

namespace {

constexpr std::uint64_t kMaxClusterGpus = std::uint64_t{kMaxNodes} * kMaxGpusPerNode;

enum Column : std::size_t {
  kId,
  kTenant,
  kUser,
  kName,
  kModel,
  kGpus,
  kSubmit,
  kRun,
  kState,
  kFailures,
  kLost,
  kGpuTime,
  kReason,
  kOverPart,
  kCauses,  // The first of kWaitCauses columns.
  kColumns = kCauses + kWaitCauses
};
constexpr std::array<std::string_view, kColumns> kNames = {"job_id",
                                                           "tenant",
                                                           "user",
                                                           "name",
                                                           "model",
                                                           "gpus",
                                                           "submit_s",
                                                           "run_s",
                                                           "state",
                                                           "failures",
                                                           "lost_gpu_s",
                                                           "gpu_s",
                                                           "last_failure",
                                                           "over_part_on_arrival",
                                                           "wait_fair_share_s",
                                                           "wait_fragmentation_s",
                                                           "wait_order_s",
                                                           "wait_backoff_s"};

class JobsFile {
 public:
  JobsFile(std::string_view text, const std::string& name, History& history)
      : rows_(text, name, kNames), history_(history) {}

  MaybeError read();
  // Adds an attempt for each job that failed without a lease: it failed in the pre-run.
  // REQUIRES: the leases have been added.
  void add_pre_runs();

 private:
  struct Read {
    PastJob job;
    WaitSplit waited;
    std::optional<Reason> last_failure;
  };

  MaybeError read_row();
  MaybeError read_names(PastJob& job);
  MaybeError read_state(PastJob& job);
  MaybeError read_gpu_time(Column column, std::int64_t& out);
  MaybeError read_reason(std::optional<Reason>& reason);
  MaybeError read_waits(WaitSplit& waited);
  void put_in_order();

  // Stores the value in `out`, or returns the error.
  template <class T, class Out>
  static MaybeError take(const Result<T>& read, Out& out) {
    if (!read.ok()) return read.error();
    out = read.value();
    return std::nullopt;
  }
  MaybeError take_span(Column column, Duration& out) const;

  NamedCsv rows_;
  History& history_;
  std::vector<Read> read_;
  std::int64_t rejected_ = 0;
  std::int64_t unfinished_ = 0;
};

MaybeError JobsFile::take_span(Column column, Duration& out) const {
  const Result<Instant> end = rows_.time(column);
  if (!end.ok()) return end.error();
  out = end.value() == Instant::never() ? Duration() : end.value() - Instant();
  return std::nullopt;
}

MaybeError JobsFile::read_names(PastJob& job) {
  const std::size_t known = history_.ids.size();
  if (MaybeError refusal = take(rows_.name(kId, history_.ids), job.id)) return refusal;
  if (job.id < known) {
    return rows_.fail(kId, "empty, or given twice: " + in_quotes(rows_.cell(kId)));
  }
  if (MaybeError refusal = take(rows_.name(kTenant, history_.tenants), job.tenant)) return refusal;
  if (MaybeError refusal = take(rows_.name(kUser, history_.users), job.user)) return refusal;
  if (MaybeError refusal = take(rows_.name(kName, history_.names), job.name)) return refusal;
  return take(rows_.name(kModel, history_.models), job.model);
}

MaybeError JobsFile::read_state(PastJob& job) {
  const std::string_view state = rows_.cell(kState);
  if (state == "finished") {
    job.status = Status::kPassed;
  } else if (state == "killed") {
    job.status = Status::kKilled;
  } else if (state == "failed") {
    job.status = Status::kFailed;
  } else if (state == "rejected") {
    job.rejected = true;
    ++rejected_;
  } else if (state == "unfinished") {
    ++unfinished_;
  } else {
    return rows_.fail(
        kState, "must be finished, killed, failed, rejected or unfinished: " + in_quotes(state));
  }
  return std::nullopt;
}

// GPU time can exceed the maximum Duration, so it is parsed as a number.
MaybeError JobsFile::read_gpu_time(Column column, std::int64_t& out) {
  const Result<double> seconds = parse_number(rows_.cell(column));
  if (!seconds.ok()) return rows_.fail(column, seconds.error().message);
  constexpr double kMax = 9e12;  // In microseconds it fits into 64 bits.
  if (!(seconds.value() >= 0 && seconds.value() <= kMax)) {
    return rows_.fail(column,
                      fmt::format("not between 0 and {}: {}", kMax, in_quotes(rows_.cell(column))));
  }
  out = std::llround(seconds.value() * 1e6);
  return std::nullopt;
}

MaybeError JobsFile::read_reason(std::optional<Reason>& reason) {
  const std::string_view key = rows_.cell(kReason);
  reason = find_reason(key);
  if (!key.empty() && !reason) return rows_.fail(kReason, no_such_reason(key));
  return std::nullopt;
}

MaybeError JobsFile::read_waits(WaitSplit& waited) {
  for (std::size_t i = 0; i < kWaitCauses; ++i) {
    const auto column = static_cast<Column>(kCauses + i);
    if (MaybeError refusal = take_span(column, waited.by_cause[i])) return refusal;
  }
  waited.over_part_on_arrival = rows_.cell(kOverPart) == "1";
  return std::nullopt;
}

MaybeError JobsFile::read_row() {
  Read read;
  PastJob& job = read.job;
  if (MaybeError refusal = read_names(job)) return refusal;
  if (MaybeError refusal = take(rows_.count(kGpus), job.gpus)) return refusal;
  if (MaybeError refusal = take(rows_.count(kFailures), job.failures)) return refusal;
  if (MaybeError refusal = take(rows_.time(kSubmit), job.submit)) return refusal;
  if (job.submit == Instant::never()) return rows_.fail(kSubmit, "empty: ''");
  if (MaybeError refusal = take_span(kRun, job.run)) return refusal;
  if (MaybeError refusal = read_gpu_time(kLost, job.lost_gpu_us)) return refusal;
  if (MaybeError refusal = read_gpu_time(kGpuTime, job.gpu_us)) return refusal;
  if (MaybeError refusal = read_reason(read.last_failure)) return refusal;
  if (MaybeError refusal = read_state(job)) return refusal;
  if (MaybeError refusal = read_waits(read.waited)) return refusal;
  read_.push_back(read);
  return std::nullopt;
}

void JobsFile::put_in_order() {
  const auto earlier = [](const Read& a, const Read& b) { return a.job.submit < b.job.submit; };
  std::stable_sort(read_.begin(), read_.end(), earlier);
  for (const Read& read : read_) {
    history_.jobs.push_back(read.job);
    history_.waits.push_back(read.waited);
  }
  add_note(history_.notes, rejected_, "job", "rejected: could never run");
  add_note(history_.notes, unfinished_, "job", "unfinished at the end of the run");
}

void JobsFile::add_pre_runs() {
  std::int64_t caught = 0;
  for (std::size_t i = 0; i < read_.size(); ++i) {
    PastJob& job = history_.jobs[i];
    if (job.attempt_count > 0 || job.failures == 0) continue;
    job.attempts = static_cast<std::uint32_t>(history_.attempts.size());
    job.attempt_count = 1;
    Attempt attempt;
    attempt.run = job.run;
    attempt.failed = true;
    attempt.reason = read_[i].last_failure;
    history_.attempts.push_back(attempt);
    ++caught;
  }
  add_note(history_.notes, caught, "job", "failed in the pre-run, before the gang started");
}

MaybeError JobsFile::read() {
  if (MaybeError refusal = rows_.read_header()) return refusal;
  if (MaybeError refusal = rows_.for_each([this] { return read_row(); })) return refusal;
  if (read_.empty()) return rows_.fail("no jobs: nothing after the header");
  put_in_order();
  return std::nullopt;
}

// The data of summary.json about the whole run.
struct RunSummary {
  std::string label;                  // "srtf, tune, consolidate".
  std::optional<std::uint64_t> jobs;  // Absent if the summary covers only a window of jobs.
  std::uint64_t gpus = 0;             // Number of GPUs of the cluster; 0: unknown.
  bool partial = false;
};

Result<RunSummary> parse_summary(std::string_view text, const std::string& name) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  if (parser.parse(simdjson::padded_string(text)).get(object) != simdjson::SUCCESS) {
    return Error{name + ": not a JSON object"};
  }
  RunSummary summary;
  std::vector<std::string> parts;
  for (const char* const key : {"policy", "mechanism", "placement"}) {
    std::string_view part;
    if (object[key].get(part) != simdjson::SUCCESS) {
      return Error{fmt::format("{}: {}: missing or not a string", name, key)};
    }
    parts.emplace_back(part);
  }
  summary.label = fmt::format("{}", fmt::join(parts, ", "));
  std::uint64_t jobs = 0;
  const bool window = object["window"].error() == simdjson::SUCCESS;
  if (!window && object["jobs"].get(jobs) == simdjson::SUCCESS) summary.jobs = jobs;
  if (object["gpus"].get(summary.gpus) != simdjson::SUCCESS || summary.gpus > kMaxClusterGpus) {
    summary.gpus = 0;
  }
  bool partial = false;
  summary.partial = object["partial"].get(partial) == simdjson::SUCCESS && partial;
  return summary;
}

}  // namespace

Result<History> parse_run(const RunTexts& texts, const std::string& dir) {
  const Result<RunSummary> summary = parse_summary(texts.summary, dir + "/summary.json");
  if (!summary.ok()) return summary.error();
  History history;
  history.source = fmt::format("{} ({}{})", dir, summary.value().label,
                               summary.value().partial ? "; interrupted" : "");
  history.format = "muster-run";
  const std::string jobs_name = dir + "/jobs.csv";
  JobsFile jobs(texts.jobs, jobs_name, history);
  if (const MaybeError refusal = jobs.read()) return *refusal;
  if (summary.value().jobs && *summary.value().jobs != history.jobs.size()) {
    return Error{fmt::format("{}: {}, but summary.json has {}", jobs_name,
                             counted(static_cast<std::int64_t>(history.jobs.size()), "job"),
                             *summary.value().jobs)};
  }
  if (const MaybeError refusal = add_leases(texts.leases, dir + "/leases.csv", history)) {
    return *refusal;
  }
  jobs.add_pre_runs();
  history.gpus = static_cast<std::int64_t>(summary.value().gpus);
  Knows& knows = history.knows;
  knows.runs = knows.starts = knows.attempts = knows.hosts = knows.slots = true;
  knows.status = knows.failures = knows.reasons = knows.waits = knows.lost = true;
  knows.tenants = history.tenants.size() > 1;  // Entry 0 is "", for unknown.
  knows.users = history.users.size() > 1;
  return history;
}

Result<History> from_run(const std::string& dir) {
  std::array<std::string, 3> texts;
  constexpr std::array<std::string_view, 3> kFiles = {"jobs.csv", "leases.csv", "summary.json"};
  for (std::size_t i = 0; i < kFiles.size(); ++i) {
    Result<std::string> text =
        read_text_file(fmt::format("{}/{}", dir, kFiles[i]), Pipes::kRefused);
    if (!text.ok()) return text.error();
    texts[i] = std::move(text).value();
  }
  return parse_run({texts[0], texts[1], texts[2]}, dir);
}

}  // namespace muster
