// Failed attempts, killed jobs and node outages.

#include <algorithm>
#include <utility>
#include <vector>

#include "base/types/saturate.h"
#include "sim/run/simulation.h"

namespace muster {

// Discards the work since the last checkpoint and returns the lost GPU time. `all`: a failure that
// every attempt repeats leaves nothing worth saving.
std::int64_t Simulation::lose_unsaved(JobId job, bool all) {
  Run& run = run_of(job);
  run.progress.set_speed(0, now_);
  const std::int64_t before = run.progress.left();
  run.progress.fall_back(run.left_before, options_.checkpoint_interval);
  if (all) run.progress = TrueProgress::of_work(run.work);
  const std::int64_t lost = saturating_multiply(run.progress.left() - before, outcome_of(job).gpus);
  outcome_of(job).lost_gpu_us += lost;
  return lost;
}

void Simulation::fail(JobId job) {
  Run& run = run_of(job);
  JobOutcome& outcome = outcome_of(job);
  const Reason reason = run.trouble->reason;
  const auto index = static_cast<std::size_t>(reason);
  ++result_.failures.attempts[index];
  result_.failures.lost_gpu_us[index] += lose_unsaved(job, run.trouble->sticky);
  ++outcome.failures;
  outcome.last_failure = reason;
  AttemptFailed event{job, engine_.state().jobs[job].epoch, reason};
  event.grade = grade_of(*run.trouble);
  run.trouble.reset();
  run.fails_at = -1;
  run.drawn = false;
  run.running_since = Instant::never();
  release(job, SpanEnd::kFailed);
  events_.push_back(event);
}

// The user stops the job, which releases its GPUs immediately. The engine also orders a stop, which
// stop() ignores.
void Simulation::kill(JobId job) {
  release(job, SpanEnd::kKilled);
  end(outcome_of(job), JobResult::kKilled);
  events_.push_back(JobCancelled{job});
  events_.push_back(LeaseEnded{job, engine_.state().jobs[job].epoch, LeaseOutcome::kStopped});
}

// All GPU time of the job is lost.
void Simulation::give_up(JobId job) {
  JobOutcome& outcome = outcome_of(job);
  // Work is counted on the requested GPUs: an elastic job may have lost more than it held.
  const std::int64_t more = std::max<std::int64_t>(0, outcome.gpu_us - outcome.lost_gpu_us);
  outcome.lost_gpu_us += more;
  result_.failures.lost_gpu_us[static_cast<std::size_t>(*outcome.last_failure)] += more;
  end(outcome, JobResult::kFailed);
}

void Simulation::end_trial(const FailureSchedule::Trial& trial) {
  JobOutcome& outcome = result_.jobs[trial.job];
  outcome.run += trial.took;
  result_.failures.pre_run_gpu_us += trial.took.us();
  if (!trial.caught) return submit(trial.job);
  ++result_.failures.caught;
  ++result_.failures.attempts[static_cast<std::size_t>(trial.reason)];
  outcome.failures = 1;
  outcome.last_failure = trial.reason;
  end(outcome, JobResult::kFailed);
}

// Jobs on a node that goes down stop immediately and fall back to their last checkpoint.
void Simulation::change_node(const FailureSchedule::Change& change) {
  if (!change.down) {
    events_.push_back(NodeOpened{change.node});
    return;
  }
  ++result_.failures.outages;
  const State& state = engine_.state();
  std::vector<std::pair<JobId, Epoch>> there;
  for (const Lease& lease : state.leases) {
    if (lease.state == Lease::State::kUnused || lease.state == Lease::State::kPromised) continue;
    const Placement& held =
        lease.state == Lease::State::kStopping ? lease.placement : lease.in_force();
    const bool hit = std::any_of(held.begin(), held.end(),
                                 [&](const Share& share) { return share.node == change.node; });
    if (hit) there.emplace_back(lease.job, lease.epoch);
  }
  std::sort(there.begin(), there.end());
  for (const auto& [job, epoch] : there) {
    run_of(job).running_since = Instant::never();
    result_.failures.outage_gpu_us += lose_unsaved(job);
    if (state.jobs[job].ending != kNoRow) {
      stopped(job, epoch);
      continue;
    }
    release(job, SpanEnd::kStopped);
    events_.push_back(LeaseEnded{job, epoch, LeaseOutcome::kStopped});
  }
  events_.push_back(NodeClosed{change.node});
}

}  // namespace muster
