// Failed attempts, retries and quarantines of the engine.

#include <algorithm>
#include <utility>

#include "base/types/check.h"
#include "engine/core/engine.h"

namespace muster {

// Work since the last checkpoint is lost. Called while the job still has its lease.
void Engine::fall_back(Job& job) {
  state_.settle(job, now_);
  const Lease& lease = state_.leases[static_cast<std::size_t>(job.lease)];
  if (lease.saved > Duration()) {
    job.work_done = lease.saved;
    return;
  }
  const std::int64_t interval = options_.checkpoint_interval.us();
  const std::int64_t done = (job.work_done - lease.work_before).us();
  job.work_done = lease.work_before + Duration::micros(done / interval * interval);
}

void Engine::wait_again(JobId id) {
  Job& job = state_.jobs[id];
  job.state = JobState::kWaiting;
  begin_patience(id);
  ++state_.waiting;
  planner_->enqueue(View(state_, now_), id);
  news_ = true;
}

void Engine::park(JobId id, Duration wait) {
  if (wait == Duration()) return wait_again(id);
  state_.jobs[id].state = JobState::kBackOff;
  backing_off_.add(now_ + wait, id);
}

void Engine::end_attempt(JobId id) {
  Job& job = state_.jobs[id];
  planner_->forget(View(state_, now_), id, JobExit::kCancelled);
  give_back(job);
  fall_back(job);
  revoke(job);
  news_ = true;
}

RetryPolicy Engine::retry_rule(const JobSpec& spec) const {
  if (spec.retries < 0) return options_.retry;
  return spec.retries == 0 ? RetryPolicy::none() : RetryPolicy::fixed(spec.retries);
}

void Engine::apply(const AttemptFailed& event) {
  if (!state_.jobs.contains(event.job)) {
    ++counters_.stale;
    return;
  }
  Job& job = state_.jobs[event.job];
  const bool current = job.lease != kNoRow &&
                       state_.leases[static_cast<std::size_t>(job.lease)].epoch == event.epoch;
  if (!current) {  // It was stopping anyway, so the failure does not change the plan.
    apply(LeaseEnded{event.job, event.epoch, LeaseOutcome::kStopped});
    return;
  }
  digest_.add(std::uint64_t{event.epoch} << 8 | 0x81);
  digest_.add((std::uint64_t{event.job.index()} << 32) ^ static_cast<std::uint64_t>(now_.us()));
  FailedAttempt failed;
  failed.reason = event.reason;
  failed.told = event.told;
  for (const Share& share : lease(event.job).placement) failed.nodes.push_back(share.node);
  std::vector<FailedAttempt>& earlier = failures_[event.job];
  const bool known_bad = inputs_.known_bad(job.spec.user, job.spec.name);
  const FailureDecision* given = given_ != nullptr ? given_reaction(event) : nullptr;
  const Verdict verdict =
      given != nullptr ? given->verdict : retry_rule(job.spec).decide(failed, earlier, known_bad);
  if (verdict.blames == Verdict::Blames::kUser) {
    inputs_.failed(job.spec.user, job.spec.name, event.job, event.reason);
  }
  earlier.push_back(failed);
  if (given_ != nullptr) {
    repeat_quarantine(event);
  } else {
    blame_node(event, job, failed, verdict);
  }
  end_attempt(event.job);
  state_.avoided.erase(event.job);
  if (given != nullptr && !given->avoided.empty()) {
    state_.avoided[event.job] = {given->avoided, Instant::never()};
  } else if (given == nullptr && verdict.next == Verdict::Next::kRetryElsewhere) {
    avoid(event.job, std::move(failed.nodes));
  }
  const std::span<const NodeId> avoided = View(state_, now_).avoided(event.job);
  decided_.reactions.push_back(
      {event.job, event.epoch, event.reason, verdict, {avoided.begin(), avoided.end()}});
  if (verdict.again()) return park(event.job, verdict.wait);
  job.state = JobState::kFailed;
  failures_.erase(event.job);
  emit(Action::Kind::kGiveUp, event.job, event.epoch, now_);
}

void Engine::apply(const LeaseLost& event) {
  const bool current = state_.jobs.contains(event.job) && state_.jobs[event.job].lease != kNoRow &&
                       lease(event.job).epoch == event.epoch;
  if (!current) return apply(LeaseEnded{event.job, event.epoch, LeaseOutcome::kStopped});
  digest_.add(std::uint64_t{event.epoch} << 8 | 0x82);
  digest_.add((std::uint64_t{event.job.index()} << 32) ^ static_cast<std::uint64_t>(now_.us()));
  end_attempt(event.job);
  park(event.job, event.wait);
}

void Engine::blame_node(const AttemptFailed& event, const Job& job, const FailedAttempt& failed,
                        const Verdict& verdict) {
  const NodeId suspect = failed.nodes.front();
  if (options_.retry.kind() != RetryPolicy::Kind::kAdaptive || state_.closed[suspect] != 0) return;
  NodeReport report;
  report.node = suspect;
  report.user = job.spec.user;
  report.tenant = job.spec.tenant;
  report.reason = event.reason;
  report.nature = failed.nature();
  report.blames_node = verdict.blames == Verdict::Blames::kNode;
  report.alone = failed.nodes.size() == 1;
  report.ran = event.ran;
  report.grade = event.grade;
  const std::optional<Charge> charge = nodes_.report(now_, report, reports_may_close(suspect));
  if (charge) quarantine({suspect, *charge, event.job}, nodes_.drained_until(suspect));
}

// Within an hour, reports close at most half of the nodes that would be schedulable without them.
// So they never close the last schedulable node: there would be no other node to compare with.
bool Engine::reports_may_close(NodeId node) const {
  std::size_t closed = 1;  // The node itself.
  std::size_t schedulable = state_.closed.size() - state_.closed_count;
  for (const NodeId each : nodes_.closed_by_reports(now_)) {
    if (each == node) continue;
    ++closed;
    if (state_.closed[each] != 0) ++schedulable;
  }
  return 2 * closed <= schedulable;
}

// A node that is unschedulable for another reason starts without evidence when it returns.
void Engine::apply(const NodeEvidence& event) {
  if (!state_.closed.contains(event.node)) return;
  if (given_ != nullptr) return repeat_quarantine(event);
  if (state_.closed[event.node] != 0) return nodes_.confirm(event.node);
  const std::optional<Charge> charge = nodes_.measured(now_, event.node, event.what);
  if (charge) quarantine({event.node, *charge, {}}, nodes_.drained_until(event.node));
}

void Engine::quarantine(Quarantine quarantine, Instant until) {
  drains_.emplace_back(until, quarantine.node);
  apply(NodeClosed{quarantine.node});
  decided_.quarantines.push_back(std::move(quarantine));
}

// Avoids the nodes only if the job could run on the other schedulable nodes. Otherwise it would
// wait in vain.
void Engine::avoid(JobId job, std::vector<NodeId> nodes) {
  std::vector<NodeId> gone = nodes;
  for (std::size_t i = 0; i < state_.closed.size(); ++i) {
    if (state_.closed[NodeId(i)] != 0) gone.push_back(NodeId(i));
  }
  if (nodes.empty() || !planner_->could_avoid(state_.jobs[job].spec, gone)) return;
  std::sort(nodes.begin(), nodes.end());
  state_.avoided[job] = {std::move(nodes), Instant::never()};
}

void Engine::begin_patience(JobId job) {
  const auto found = state_.avoided.find(job);
  if (found == state_.avoided.end()) return;
  found->second.until = now_ + kPatience;
  avoidances_.add(found->second.until, job);
}

// Drops the entries of jobs that have since got GPUs, or that avoid nodes until another time.
void Engine::drop_void_avoidances() {
  while (!avoidances_.empty()) {
    const auto [until, job] = avoidances_.first();
    const auto found = state_.avoided.find(job);
    if (found != state_.avoided.end() && found->second.until == until &&
        state_.jobs[job].state == JobState::kWaiting) {
      return;
    }
    avoidances_.drop_first();
  }
}

void Engine::release_backed_off() {
  while (!backing_off_.empty() && backing_off_.first().until <= now_) {
    const JobId job = backing_off_.first().job;
    backing_off_.drop_first();
    if (state_.jobs[job].state == JobState::kBackOff) wait_again(job);
  }
  for (drop_void_avoidances(); !avoidances_.empty() && avoidances_.first().until <= now_;
       drop_void_avoidances()) {
    const JobId job = avoidances_.first().job;
    state_.avoided.erase(job);  // This makes its timer void.
    planner_->reseat(View(state_, now_), job);
    decided_.avoidance_ended = true;
    news_ = true;
  }
  const std::vector<std::pair<Instant, NodeId>> drains = drains_;
  for (const auto& [until, node] : drains) {
    if (until <= now_) apply(NodeOpened{node});
  }
}

}  // namespace muster
