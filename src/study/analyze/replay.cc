#include "study/analyze/replay.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/types/saturate.h"

namespace muster {

namespace {

using Failed = std::vector<FailedRun>;  // Failed attempts of one job, in order.

// The reason of all attempts, if they have the same one and the job failed in the end.
std::optional<Reason> common_reason(const PastJob& job, const Failed& failed) {
  if (job.status != Status::kFailed || failed.size() < 2) return std::nullopt;
  const std::optional<Reason> first = failed.front().attempt->reason;
  const bool same = std::all_of(failed.begin(), failed.end(),
                                [&](const FailedRun& one) { return one.attempt->reason == first; });
  return same ? first : std::nullopt;
}

// Whether a failure for this reason is a fault of the program or its inputs.
bool is_permanent(Reason reason, std::optional<Reason> common) {
  const ReasonInfo& info = info_of(reason);
  return info.deterministic() || (info.nature == RetryClass::kSuspect && common == reason);
}

PreRun pre_run_meets(const StudyInput& asked, const PastJob& job, const FailedRun& failed,
                     std::optional<Reason> common) {
  const std::optional<Reason>& reason = failed.attempt->reason;
  if (!reason || !failed.run) return {};
  const InjectedFailure trouble{*reason, *failed.run, is_permanent(*reason, common)};
  return pre_run(job.gpus, trouble, Duration::max(), asked.options.pre_run);
}

// Returns the first attempt that the pre-run would have caught, or their number if there is none.
std::size_t first_caught(const StudyInput& asked, const PastJob& job, const Failed& failed,
                         std::optional<Reason> common) {
  const auto at = std::find_if(failed.begin(), failed.end(), [&](const FailedRun& one) {
    return pre_run_meets(asked, job, one, common).caught;
  });
  return static_cast<std::size_t>(at - failed.begin());
}

// `caught`: as first_caught().
Duration pre_run_takes(const StudyInput& asked, const PastJob& job, const Failed& failed,
                       std::size_t caught, std::optional<Reason> common) {
  if (job.attempt_count == 0) return {};
  if (caught < failed.size()) return pre_run_meets(asked, job, failed[caught], common).takes;
  const Duration run = job.run > Duration() ? job.run : Duration::max();
  return pre_run(job.gpus, std::nullopt, run, asked.options.pre_run).takes;
}

// Returns the failure at which the policy stops, or their number if there is none.
std::size_t stops_at(const StudyInput& asked, const Failed& failed) {
  std::vector<FailedAttempt> earlier;
  for (std::size_t i = 0; i < failed.size(); ++i) {
    if (!failed[i].attempt->reason) continue;
    FailedAttempt attempt = failed_attempt(asked.history, *failed[i].attempt);
    if (!asked.options.retry.decide(attempt, earlier).again()) return i;
    // No decision depends on how many of these there were.
    if (info_of(attempt.reason).nature != RetryClass::kScheduler)
      earlier.push_back(std::move(attempt));
  }
  return failed.size();
}

void add_to(Replayed::Caught& sum, const Replayed::Caught& other) {
  sum.jobs += other.jobs;
  sum.caught += other.caught;
}

// Counts the job by its first failure with a known reason, if it is large enough for a pre-run.
void count_caught(const StudyInput& asked, const PastJob& job, const Failed& failed, bool caught,
                  std::optional<Reason> common, Replayed& result) {
  if (job.gpus < asked.options.pre_run.least_gpus) return;
  const auto first = std::find_if(failed.begin(), failed.end(), [](const FailedRun& one) {
    return one.attempt->reason.has_value();
  });
  if (first == failed.end()) return;
  const Reason reason = *first->attempt->reason;
  const std::array<Bucket, 2>& buckets = info_of(reason).buckets;
  const bool of_user = std::find(buckets.begin(), buckets.end(), Bucket::kUser) != buckets.end() &&
                       is_permanent(reason, common);
  Replayed::Caught& count = of_user ? result.user_errors : result.other_errors;
  ++count.jobs;
  if (caught) ++count.caught;
}

void add_to(Savings& sum, const Savings& other) {
  sum.attempts += other.attempts;
  sum.gpu_us = saturating_add(sum.gpu_us, other.gpu_us);
}

}  // namespace

void Savings::add(std::int64_t time) {
  ++attempts;
  gpu_us = saturating_add(gpu_us, time);
}

void Replayed::add(const Replayed& other) {
  failed += other.failed;
  timed += other.timed;
  told += other.told;
  lost_gpu_us = saturating_add(lost_gpu_us, other.lost_gpu_us);
  add_to(pre_run, other.pre_run);
  add_to(retry, other.retry);
  add_to(blacklist, other.blacklist);
  add_to(together, other.together);
  add_to(user_errors, other.user_errors);
  add_to(other_errors, other.other_errors);
  pre_run_gpu_us = saturating_add(pre_run_gpu_us, other.pre_run_gpu_us);
  given_up += other.given_up;
}

Replayed replay(const StudyInput& asked, const PastJob& job, std::size_t listed) {
  const Failed failed = failed_runs(asked.history, job);
  Replayed result;
  const std::optional<Reason> common = common_reason(job, failed);
  const std::size_t caught = first_caught(asked, job, failed, common);
  result.pre_run_gpu_us = pre_run_takes(asked, job, failed, caught, common).us();
  const std::size_t stop = stops_at(asked, failed);
  const bool passed = job.status == Status::kPassed;
  if (passed && (stop < failed.size() || listed < failed.size())) result.given_up = 1;
  const auto spared_after = [&](std::size_t last) {
    return passed || last >= failed.size() ? failed.size() : last + 1;
  };
  const std::size_t spared = spared_after(stop);
  const std::size_t unlisted = spared_after(listed);
  count_caught(asked, job, failed, caught < failed.size(), common, result);
  for (std::size_t i = 0; i < failed.size(); ++i) {
    const std::optional<Duration> run = failed[i].run;
    const std::int64_t time = gpu_time(run.value_or(Duration()), job.gpus);
    ++result.failed;
    if (run) ++result.timed;
    if (failed[i].attempt->reason) ++result.told;
    result.lost_gpu_us = saturating_add(result.lost_gpu_us, time);
    if (i >= caught) result.pre_run.add(time);
    if (i >= spared) result.retry.add(time);
    if (i >= unlisted) result.blacklist.add(time);
    if (i >= std::min({caught, spared, unlisted})) result.together.add(time);
  }
  return result;
}

}  // namespace muster
