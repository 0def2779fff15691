#include "study/analyze/input_blacklist.h"

#include <algorithm>
#include <tuple>

#include "engine/failure/input_blame.h"

namespace muster {

namespace {

struct Outcome {
  Instant at;
  std::uint32_t job = 0;      // Index into History::jobs.
  std::size_t attempt = 0;    // Index of the failed attempt; kNoStop: the job passed.
  FailedAttempt failed = {};  // If it failed.
};

bool may_be_fault_of_job(Reason reason) {
  const RetryClass nature = info_of(reason).nature;
  return nature == RetryClass::kDeterministic || nature == RetryClass::kSuspect;
}

// All known outcomes of jobs with a name, in order of time.
std::vector<Outcome> outcomes_of(const StudyInput& asked) {
  const History& history = asked.history;
  std::vector<Outcome> outcomes;
  for (const StudyJob& job : asked.jobs) {
    const PastJob& past = asked.past(job);
    if (past.name == 0) continue;
    const std::vector<FailedRun> failed = failed_runs(history, past);
    for (std::size_t i = 0; i < failed.size(); ++i) {
      const Attempt& attempt = *failed[i].attempt;
      if (!attempt.reason || attempt.end == Instant::never()) continue;
      if (info_of(*attempt.reason).nature == RetryClass::kScheduler) continue;
      outcomes.push_back({attempt.end, job.index, i, failed_attempt(history, attempt)});
    }
    if (past.status != Status::kPassed || past.attempt_count == 0) continue;
    const Instant end = history.attempts_of(past).back().end;
    if (end != Instant::never()) outcomes.push_back({end, job.index, kNoStop});
  }
  std::sort(outcomes.begin(), outcomes.end(), [](const Outcome& a, const Outcome& b) {
    return std::tie(a.at, a.job, a.attempt) < std::tie(b.at, b.job, b.attempt);
  });
  return outcomes;
}

}  // namespace

std::vector<std::size_t> blacklist_stops(const StudyInput& asked) {
  const std::vector<Outcome> outcomes = outcomes_of(asked);
  if (outcomes.empty()) return {};
  std::vector<std::size_t> stops(asked.history.jobs.size(), kNoStop);
  // Failed attempts of each job, at most as many as can change the decision.
  constexpr std::size_t kMaxEarlier = 16;
  std::vector<std::vector<FailedAttempt>> earlier(asked.history.jobs.size());
  InputBlame inputs;
  for (const Outcome& outcome : outcomes) {
    const PastJob& past = asked.history.jobs[outcome.job];
    const UserId user(past.user);
    const NameId name(past.name);
    if (outcome.attempt == kNoStop) {
      inputs.succeeded(user, name);
      continue;
    }
    const bool known_bad = inputs.known_bad(user, name);
    if (known_bad && may_be_fault_of_job(outcome.failed.reason)) {
      stops[outcome.job] = std::min(stops[outcome.job], outcome.attempt);
    }
    std::vector<FailedAttempt>& before = earlier[outcome.job];
    const Verdict verdict = RetryPolicy::adaptive().decide(outcome.failed, before, known_bad);
    if (verdict.blames == Verdict::Blames::kUser) {
      inputs.failed(user, name, JobId(outcome.job), outcome.failed.reason);
    }
    if (before.size() < kMaxEarlier) before.push_back(outcome.failed);
  }
  return stops;
}

}  // namespace muster
