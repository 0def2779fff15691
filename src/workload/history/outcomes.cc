#include "workload/history/outcomes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <vector>

#include "base/file/text_file.h"
#include "base/text/text.h"
#include "base/types/saturate.h"
#include "workload/history/jobs_by_id.h"
#include "workload/history/named_csv.h"
#include "workload/history/notes.h"

namespace muster {

namespace {

enum Column : std::size_t { kJob, kStatus, kAttempts, kRun, kReasons, kColumns };
constexpr std::array<std::string_view, kColumns> kNames = {"job_id", "status", "attempts", "run_s",
                                                           "reasons"};
constexpr std::int32_t kMaxAttempts = 10'000;

std::vector<std::string_view> parts_of(std::string_view list) {
  if (list.empty()) return {};
  return split(list, ';');
}

class OutcomesFile {
 public:
  OutcomesFile(std::string_view text, const std::string& name, History& history)
      : rows_(text, name, kNames), history_(history), by_id_(history), seen_(history.jobs.size()) {}

  MaybeError read();

 private:
  MaybeError read_row();
  Result<std::uint32_t> find_job();  // Also marks the job as seen.
  MaybeError read_status(PastJob& job);
  MaybeError read_attempts(PastJob& job);
  MaybeError read_reasons(std::span<Attempt> failed);

  NamedCsv rows_;
  History& history_;
  JobsById by_id_;
  std::vector<bool> seen_;  // Whether the job has a row, by index in History::jobs.
};

Result<std::uint32_t> OutcomesFile::find_job() {
  const std::string_view text = rows_.cell(kJob);
  if (text.empty()) return rows_.fail(kJob, "empty: ''");
  const std::optional<std::uint32_t> job = by_id_.find(text);
  if (!job) return rows_.fail(kJob, "no such job in the trace: " + in_quotes(text));
  if (seen_[*job]) return rows_.fail(kJob, "given twice: " + in_quotes(text));
  seen_[*job] = true;
  return *job;
}

MaybeError OutcomesFile::read_status(PastJob& job) {
  constexpr std::array<std::string_view, 3> kWords = {"passed", "killed", "failed"};
  const std::string_view word = rows_.cell(kStatus);
  const auto at = std::find(kWords.begin(), kWords.end(), word);
  if (at == kWords.end()) {
    return rows_.fail(kStatus, "no such status: " + in_quotes(word) + suggestion(word, kWords));
  }
  job.status = static_cast<Status>(at - kWords.begin());  // kWords is in the order of Status.
  return std::nullopt;
}

MaybeError OutcomesFile::read_reasons(std::span<Attempt> failed) {
  const std::vector<std::string_view> keys = parts_of(rows_.cell(kReasons));
  if (keys.size() != failed.size()) {
    return rows_.fail(
        kReasons,
        fmt::format("{} for {}: {}", counted(static_cast<std::int64_t>(keys.size()), "reason"),
                    counted(static_cast<std::int64_t>(failed.size()), "failed attempt"),
                    in_quotes(rows_.cell(kReasons))));
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    failed[i].failed = true;
    failed[i].reason = find_reason(keys[i]);
    if (!failed[i].reason) return rows_.fail(kReasons, no_such_reason(keys[i]));
  }
  return std::nullopt;
}

MaybeError OutcomesFile::read_attempts(PastJob& job) {
  const Result<std::int32_t> count = rows_.count(kAttempts);
  if (!count.ok()) return count.error();
  if (count.value() < 1 || count.value() > kMaxAttempts) {
    return rows_.fail(kAttempts, fmt::format("not between 1 and {}: {}", kMaxAttempts,
                                             in_quotes(rows_.cell(kAttempts))));
  }
  const std::vector<std::string_view> runs = parts_of(rows_.cell(kRun));
  if (runs.size() != static_cast<std::size_t>(count.value())) {
    return rows_.fail(
        kRun,
        fmt::format("{} for {}: {}", counted(static_cast<std::int64_t>(runs.size()), "run time"),
                    counted(count.value(), "attempt"), in_quotes(rows_.cell(kRun))));
  }
  job.attempts = static_cast<std::uint32_t>(history_.attempts.size());
  job.attempt_count = static_cast<std::uint32_t>(count.value());
  job.failures = count.value() - (job.status == Status::kFailed ? 0 : 1);
  std::int64_t sum = 0;
  for (const std::string_view run : runs) {
    const Result<Duration> seconds = parse_seconds(run);
    if (!seconds.ok()) return rows_.fail(kRun, seconds.error().message);
    Attempt attempt;
    attempt.run = seconds.value();
    sum = saturating_add(sum, attempt.run.us());
    history_.attempts.push_back(attempt);
  }
  if (std::abs(sum - job.run.us()) > 1'000'000 * std::int64_t{count.value()}) {
    return rows_.fail(kRun,
                      fmt::format("{} s in total, but the trace has {} s: {}", seconds_text(sum),
                                  seconds_text(job.run.us()), in_quotes(rows_.cell(kRun))));
  }
  return read_reasons(
      std::span(history_.attempts).subspan(job.attempts, static_cast<std::size_t>(job.failures)));
}

MaybeError OutcomesFile::read_row() {
  const Result<std::uint32_t> found = find_job();
  if (!found.ok()) return found.error();
  PastJob& job = history_.jobs[found.value()];
  if (MaybeError refusal = read_status(job)) return refusal;
  return read_attempts(job);
}

MaybeError OutcomesFile::read() {
  if (MaybeError refusal = rows_.read_header()) return refusal;
  if (MaybeError refusal = rows_.for_each([this] { return read_row(); })) return refusal;
  Knows& knows = history_.knows;
  knows.status = knows.failures = knows.attempts = knows.reasons = true;
  add_note(history_.notes, std::count(seen_.begin(), seen_.end(), false), "job",
           "without a known outcome");
  return std::nullopt;
}

}  // namespace

MaybeError parse_outcomes(std::string_view text, const std::string& name, History& history) {
  return OutcomesFile(text, name, history).read();
}

MaybeError add_outcomes(const std::string& path, History& history) {
  const Result<std::string> text = read_text_file(path);
  if (!text.ok()) return text.error();
  return parse_outcomes(text.value(), path, history);
}

}  // namespace muster
