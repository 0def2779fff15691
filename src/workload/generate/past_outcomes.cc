#include "workload/generate/past_outcomes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <iterator>

#include "base/file/csv_row.h"
#include "base/text/text.h"
#include "base/types/check.h"
#include "base/types/enum_names.h"
#include "base/types/random.h"
#include "engine/failure/fault_model.h"
#include "workload/generate/failure_law.h"

namespace muster {

namespace {

// Share of failing jobs on 1, 2, up to 4, up to 8 and more GPUs. In the study 17.2% of the jobs
// fail, large ones more often, and jobs with several GPUs have one failed attempt on average. These
// values reproduce both for the sizes of the public trace.
constexpr std::array kFailing = {0.152, 0.41, 0.45, 0.49, 0.53};

// Share of jobs with a failed attempt among jobs that do not fail, on one GPU and on more. The
// reasons of the table add up to 17,581 jobs; 16,568 of these failed permanently.
constexpr double kRecovered = 0.01;
constexpr double kRecoveredGang = 0.05;

std::size_t group_of(std::int32_t gpus) {
  const auto doublings = std::bit_width(static_cast<std::uint32_t>(gpus - 1));
  return std::min<std::size_t>(static_cast<std::size_t>(doublings), kFailing.size() - 1);
}

struct Group {
  std::vector<std::size_t> jobs;  // Indices in Trace::jobs, by ascending run time.
  std::vector<Duration> run_times;
};

std::array<Group, kFailing.size()> group_jobs(const Trace& trace) {
  std::array<Group, kFailing.size()> groups;
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    groups[group_of(trace.jobs[i].gpus)].jobs.push_back(i);
  }
  for (Group& group : groups) {
    std::stable_sort(group.jobs.begin(), group.jobs.end(), [&](std::size_t a, std::size_t b) {
      return trace.jobs[a].duration < trace.jobs[b].duration;
    });
    for (const std::size_t job : group.jobs) group.run_times.push_back(trace.jobs[job].duration);
  }
  return groups;
}

std::vector<std::optional<Reason>> draw_failures(const Trace& trace, Random random) {
  std::vector<std::optional<Reason>> failures(trace.jobs.size());
  const auto groups = group_jobs(trace);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].jobs.empty()) continue;
    const SizeClass size = size_class(trace.jobs[groups[i].jobs.front()].gpus);
    const FailureLaw law(size, kFailing[i], groups[i].run_times);
    for (std::size_t j = 0; j < groups[i].jobs.size(); ++j) {
      failures[groups[i].jobs[j]] = law.draw(j, random);
    }
  }
  return failures;
}

// Draws the number of attempts with the mean of the reason. All attempts fail after about the same
// time.
std::vector<PastAttempt> failed_attempts(Reason reason, Duration run_time, Random& random) {
  const double tries = tries_of(info_of(reason));
  auto count = static_cast<std::int64_t>(tries);
  if (random.uniform() < tries - static_cast<double>(count)) ++count;
  // Attempts have whole seconds, as in the log. A job that is too short for that failed once.
  if (run_time < Duration::seconds(count)) count = 1;
  std::vector<PastAttempt> attempts;
  Duration left = run_time;
  for (std::int64_t more = count - 1; more > 0; --more) {
    const double even = left.in_seconds() / static_cast<double>(more + 1);
    const double drawn = std::floor(even * random.uniform(0.8, 1.2));
    const auto seconds = std::max<std::int64_t>(1, static_cast<std::int64_t>(drawn));
    const Duration part = std::min(Duration::seconds(seconds), left - Duration::seconds(more));
    attempts.push_back({part, reason});
    left -= part;
  }
  attempts.push_back({left, reason});
  return attempts;
}

bool passes(const ReasonInfo& info) {
  return info.nature == RetryClass::kPassing || info.nature == RetryClass::kNode ||
         info.nature == RetryClass::kScheduler;
}

Reason draw_passing(std::int32_t gpus, Random& random) {
  const auto size = static_cast<std::size_t>(size_class(gpus));
  std::int64_t sum = 0;
  for (const ReasonInfo& info : reasons()) sum += passes(info) ? info.trials_by_size[size] : 0;
  auto left = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(sum)));
  Reason last = Reason::kCheckpointError;
  for (const ReasonInfo& info : reasons()) {
    if (!passes(info)) continue;
    last = info.reason;
    left -= info.trials_by_size[size];
    if (left < 0) break;
  }
  return last;
}

// Draws a transient failure for some jobs, after which the job succeeds. A failure time after the
// end of the job means no failure.
std::vector<PastAttempt> good_attempts(const TraceJob& job, Random& random) {
  const double recovered = job.gpus == 1 ? kRecovered : kRecoveredGang;
  if (random.uniform() >= recovered) return {{job.duration, std::nullopt}};
  const Reason reason = draw_passing(job.gpus, random);
  const double drawn = std::ceil(time_to_failure(reason, random.normal()).in_seconds());
  const Duration after = Duration::seconds(static_cast<std::int64_t>(drawn));
  if (after >= job.duration) return {{job.duration, std::nullopt}};
  return {{after, reason}, {job.duration - after, std::nullopt}};
}

}  // namespace

std::string_view name_of(PastStatus status) {
  constexpr EnumNames<PastStatus, PastStatus::kFailed> kNames({"passed", "killed", "failed"});
  return kNames[status];
}

std::vector<PastOutcome> draw_past(const Trace& trace, std::uint64_t seed) {
  const Random random(seed);
  const auto failures = draw_failures(trace, random.fork("past failures"));
  Random statuses = random.fork("past statuses");
  Random attempts = random.fork("past attempts");
  std::vector<PastOutcome> past(trace.jobs.size());
  for (std::size_t i = 0; i < past.size(); ++i) {
    const TraceJob& job = trace.jobs[i];
    if (failures[i]) {
      past[i] = {PastStatus::kFailed, failed_attempts(*failures[i], job.duration, attempts)};
      continue;
    }
    const bool killed = statuses.uniform() < killed_share(job.duration);
    past[i] = {killed ? PastStatus::kKilled : PastStatus::kPassed, good_attempts(job, attempts)};
  }
  return past;
}

std::string write_past_csv(const Trace& trace, std::span<const PastOutcome> past) {
  MUSTER_CHECK(past.size() == trace.jobs.size());
  std::string out = "job_id,status,attempts,run_s,reasons\n";
  CsvRow row(CsvRow::LineBreaks::kBlanks);
  for (std::size_t i = 0; i < past.size(); ++i) {
    row.text(trace.jobs[i].id);
    row.text(name_of(past[i].status));
    row.count(static_cast<std::int64_t>(past[i].attempts.size()));
    std::string times;
    std::string reasons;
    for (const PastAttempt& attempt : past[i].attempts) {
      if (!times.empty()) times += ';';
      append_millionths(times, attempt.run_time.us());
      if (!attempt.failed_of) continue;
      if (!reasons.empty()) reasons += ';';
      reasons += info_of(*attempt.failed_of).key;
    }
    row.text(times);
    row.text(reasons);
    row.write_to(out);
  }
  return out;
}

}  // namespace muster
