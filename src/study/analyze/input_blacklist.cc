#include "study/analyze/input_blacklist.h"

#include <algorithm>
#include <tuple>

#include "engine/failure/blame.h"

namespace muster {

namespace {

struct Outcome {
  Instant at;
  std::uint32_t job = 0;    // Index into History::jobs.
  std::size_t attempt = 0;  // Index of the failed attempt; kNoStop: the job passed.
};

// All known outcomes, in order of time.
std::vector<Outcome> outcomes_of(const StudyInput& asked) {
  std::vector<Outcome> outcomes;
  for (const StudyJob& job : asked.jobs) {
    const PastJob& past = asked.past(job);
    const std::vector<FailedRun> failed = failed_runs(asked.history, past);
    for (std::size_t i = 0; i < failed.size(); ++i) {
      const Attempt& attempt = *failed[i].attempt;
      if (attempt.reason && attempt.end != Instant::never()) {
        outcomes.push_back({attempt.end, job.index, i});
      }
    }
    if (past.status != Status::kPassed || past.attempt_count == 0) continue;
    const Instant end = asked.history.attempts_of(past).back().end;
    if (end != Instant::never()) outcomes.push_back({end, job.index, kNoStop});
  }
  std::sort(outcomes.begin(), outcomes.end(), [](const Outcome& a, const Outcome& b) {
    return std::tie(a.at, a.job, a.attempt) < std::tie(b.at, b.job, b.attempt);
  });
  return outcomes;
}

}  // namespace

std::vector<std::size_t> blacklist_stops(const StudyInput& asked) {
  std::vector<std::size_t> stops(asked.history.jobs.size(), kNoStop);
  std::vector<std::vector<FailedAttempt>> earlier(asked.history.jobs.size());
  InputBlame inputs;
  for (const Outcome& outcome : outcomes_of(asked)) {
    const PastJob& past = asked.history.jobs[outcome.job];
    const UserId user(past.user);
    const NameId name(past.name);
    std::vector<FailedAttempt>& before = earlier[outcome.job];
    if (outcome.attempt == kNoStop) {
      inputs.succeeded(user, name);
      before = {};
      continue;
    }
    const bool known_bad = inputs.known_bad(user, name);
    if (known_bad) stops[outcome.job] = std::min(stops[outcome.job], outcome.attempt);
    const FailedRun failed = failed_runs(asked.history, past)[outcome.attempt];
    FailedAttempt attempt = failed_attempt(asked.history, *failed.attempt);
    const Verdict verdict = RetryPolicy::adaptive().decide(attempt, before, known_bad);
    if (verdict.blames == Verdict::Blames::kUser) {
      inputs.failed(user, name, JobId(outcome.job), attempt.reason);
    }
    before.push_back(std::move(attempt));
  }
  return stops;
}

}  // namespace muster
