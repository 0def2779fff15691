#include "history/run_history.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "history/named_csv.h"
#include "history/notes.h"
#include "history/run_leases.h"
#include "trace/text_file.h"

namespace muster {

namespace {

enum Column : std::size_t {
  kId,
  kTenant,
  kUser,
  kModel,
  kGpus,
  kSubmit,
  kRun,
  kState,
  kFailures,
  kLost,
  kOverPart,
  kCauses,  // The first of as many as there are causes.
  kColumns = kCauses + kWaitCauses
};
constexpr std::array<std::string_view, kColumns> kNames = {"job_id",
                                                           "tenant",
                                                           "user",
                                                           "model",
                                                           "gpus",
                                                           "submit_s",
                                                           "run_s",
                                                           "state",
                                                           "failures",
                                                           "lost_gpu_s",
                                                           "over_part_on_arrival",
                                                           "wait_fair_share_s",
                                                           "wait_fragmentation_s",
                                                           "wait_order_s",
                                                           "wait_backoff_s"};

class JobsFile {
 public:
  JobsFile(std::string_view text, const std::string& name, History& history)
      : rows_(text, name, kNames), history_(history) {}

  Refusal read();

 private:
  struct Read {
    PastJob job;
    WaitSplit waited;
  };

  Refusal read_row();
  Refusal read_names(PastJob& job);
  Refusal read_state(PastJob& job);
  Refusal read_waits(WaitSplit& waited);
  void put_in_order();

  // What the row holds there, into `out`; or the refusal.
  template <class T, class Out>
  static Refusal take(const Result<T>& read, Out& out) {
    if (!read.ok()) return read.error();
    out = read.value();
    return std::nullopt;
  }
  Refusal take_span(Column column, Duration& out) const;

  NamedCsv rows_;
  History& history_;
  std::vector<Read> read_;
  std::int64_t rejected_ = 0;
  std::int64_t unfinished_ = 0;
};

Refusal JobsFile::take_span(Column column, Duration& out) const {
  const Result<Instant> end = rows_.time(column);
  if (!end.ok()) return end.error();
  out = end.value() == Instant::never() ? Duration() : end.value() - Instant();
  return std::nullopt;
}

Refusal JobsFile::read_names(PastJob& job) {
  if (Refusal refusal = take(rows_.name(kId, history_.ids), job.id)) return refusal;
  if (Refusal refusal = take(rows_.name(kTenant, history_.tenants), job.tenant)) return refusal;
  if (Refusal refusal = take(rows_.name(kUser, history_.users), job.user)) return refusal;
  return take(rows_.name(kModel, history_.models), job.model);
}

Refusal JobsFile::read_state(PastJob& job) {
  const std::string_view state = rows_.cell(kState);
  if (state == "finished") {
    job.status = Status::kPassed;
  } else if (state == "failed") {
    job.status = Status::kFailed;
  } else if (state == "rejected") {
    ++rejected_;
  } else if (state == "unfinished") {
    ++unfinished_;
  } else {
    return rows_.fail(kState,
                      "neither finished, failed, rejected nor unfinished: " + in_quotes(state));
  }
  return std::nullopt;
}

Refusal JobsFile::read_waits(WaitSplit& waited) {
  for (std::size_t i = 0; i < kWaitCauses; ++i) {
    const auto column = static_cast<Column>(kCauses + i);
    if (Refusal refusal = take_span(column, waited.by_cause[i])) return refusal;
  }
  waited.over_part_on_arrival = rows_.cell(kOverPart) == "1";
  return std::nullopt;
}

Refusal JobsFile::read_row() {
  PastJob job;
  WaitSplit waited;
  Duration lost;
  if (Refusal refusal = read_names(job)) return refusal;
  if (Refusal refusal = take(rows_.count(kGpus), job.gpus)) return refusal;
  if (Refusal refusal = take(rows_.count(kFailures), job.failures)) return refusal;
  if (Refusal refusal = take(rows_.time(kSubmit), job.submit)) return refusal;
  if (job.submit == Instant::never()) return rows_.fail(kSubmit, "empty: ''");
  if (Refusal refusal = take_span(kRun, job.run)) return refusal;
  if (Refusal refusal = take_span(kLost, lost)) return refusal;
  job.lost_gpu_us = lost.us();
  if (Refusal refusal = read_state(job)) return refusal;
  if (Refusal refusal = read_waits(waited)) return refusal;
  read_.push_back({job, waited});
  return std::nullopt;
}

void JobsFile::put_in_order() {
  const auto earlier = [](const Read& a, const Read& b) { return a.job.submit < b.job.submit; };
  std::stable_sort(read_.begin(), read_.end(), earlier);
  for (const Read& read : read_) {
    history_.jobs.push_back(read.job);
    history_.waits.push_back(read.waited);
  }
  add_note(history_.notes, rejected_, "job", "rejected: of unknown status");
  add_note(history_.notes, unfinished_, "job", "unfinished: of unknown status");
}

Refusal JobsFile::read() {
  if (Refusal refusal = rows_.read_header()) return refusal;
  while (true) {
    const Result<bool> more = rows_.next();
    if (!more.ok()) return more.error();
    if (!more.value()) break;
    if (Refusal refusal = read_row()) return refusal;
  }
  if (read_.empty()) return rows_.fail("no jobs: nothing after the header");
  put_in_order();
  return std::nullopt;
}

// What summary.json says of the run as a whole.
struct RunSummary {
  std::string label;                  // "srtf, tune, consolidate".
  std::optional<std::uint64_t> jobs;  // Not where it is of a window of jobs.
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
      return Error{fmt::format("{}: {}: missing, or not a text", name, key)};
    }
    parts.emplace_back(part);
  }
  summary.label = fmt::format("{}", fmt::join(parts, ", "));
  std::uint64_t jobs = 0;
  const bool window = object["window"].error() == simdjson::SUCCESS;
  if (!window && object["jobs"].get(jobs) == simdjson::SUCCESS) summary.jobs = jobs;
  bool partial = false;
  summary.partial = object["partial"].get(partial) == simdjson::SUCCESS && partial;
  return summary;
}

}  // namespace

Result<History> parse_run(const RunTexts& texts, const std::string& dir) {
  const Result<RunSummary> summary = parse_summary(texts.summary, dir + "/summary.json");
  if (!summary.ok()) return summary.error();
  History history;
  history.source = fmt::format("{} ({})", dir, summary.value().label);
  history.format = "muster-run";
  const std::string jobs_name = dir + "/jobs.csv";
  if (const Refusal refusal = JobsFile(texts.jobs, jobs_name, history).read()) return *refusal;
  if (summary.value().jobs && *summary.value().jobs != history.jobs.size()) {
    return Error{fmt::format("{}: {} where summary.json has {}", jobs_name,
                             counted(static_cast<std::int64_t>(history.jobs.size()), "job"),
                             *summary.value().jobs)};
  }
  if (const Refusal refusal = add_leases(texts.leases, dir + "/leases.csv", history)) {
    return *refusal;
  }
  if (summary.value().partial) history.notes.emplace_back("the run was interrupted");
  Knows& knows = history.knows;
  knows.runs = knows.starts = knows.attempts = knows.hosts = true;
  knows.status = knows.failures = knows.reasons = knows.waits = knows.lost = true;
  knows.tenants = history.tenants.size() > 1;  // With the "" of nobody.
  knows.users = history.users.size() > 1;
  return history;
}

Result<History> from_run(const std::string& dir) {
  std::array<std::string, 3> texts;
  constexpr std::array<std::string_view, 3> kFiles = {"jobs.csv", "leases.csv", "summary.json"};
  for (std::size_t i = 0; i < kFiles.size(); ++i) {
    Result<std::string> text = read_text_file(fmt::format("{}/{}", dir, kFiles[i]));
    if (!text.ok()) return text.error();
    texts[i] = std::move(text).value();
  }
  return parse_run({texts[0], texts[1], texts[2]}, dir);
}

}  // namespace muster
