// The engine when things break: attempts that fail, and what is done about them.

#include <algorithm>
#include <utility>

#include "base/types/check.h"
#include "engine/core/engine.h"

namespace muster {

// What it did since it last saved its work is lost. Called while it still has its lease.
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
  state_.jobs[id].state = JobState::kParked;
  parked_.add(now_ + wait, id);
}

// Its lease is gone, and what it held is free.
void Engine::end_attempt(JobId id) {
  Job& job = state_.jobs[id];
  planner_->forget(View(state_, now_), id, Farewell::kCancelled);
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
  if (!current) {  // Told to stop already: that it failed instead makes no difference to the plan.
    apply(LeaseEnded{event.job, event.epoch, LeaseOutcome::kStopped});
    return;
  }
  digest_.add(std::uint64_t{event.epoch} << 8 | 0x81);
  digest_.add((std::uint64_t{event.job.index()} << 32) ^ static_cast<std::uint64_t>(now_.us()));
  FailedAttempt failed;
  failed.reason = event.reason;
  failed.told = event.told;
  for (const Share& share : lease(event.job).placement) failed.servers.push_back(share.node);
  std::vector<FailedAttempt>& earlier = failures_[event.job];
  const bool known_bad = inputs_.known_bad(job.spec.user, job.spec.name);
  const Aftermath* given = given_ != nullptr ? given_reaction(event) : nullptr;
  const Verdict verdict =
      given != nullptr ? given->verdict : retry_rule(job.spec).decide(failed, earlier, known_bad);
  if (verdict.blames == Verdict::Blames::kUser) {
    inputs_.failed(job.spec.user, job.spec.name, event.job, event.reason);
  }
  earlier.push_back(failed);
  if (given_ != nullptr) {
    repeat_quarantine(event);
  } else {
    blame_server(event, job, failed, verdict);
  }
  end_attempt(event.job);
  state_.avoided.erase(event.job);
  if (given != nullptr && !given->avoided.empty()) {
    state_.avoided[event.job] = {given->avoided, Instant::never()};
  } else if (given == nullptr && verdict.next == Verdict::Next::kRetryElsewhere) {
    avoid(event.job, std::move(failed.servers));
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

void Engine::blame_server(const AttemptFailed& event, const Job& job, const FailedAttempt& failed,
                          const Verdict& verdict) {
  const NodeId suspect = failed.servers.front();
  if (options_.retry.kind() != RetryPolicy::Kind::kAdaptive || state_.closed[suspect] != 0) return;
  // What may be the jobs' fault is no reason to close the last server: where else could it show?
  const bool last = state_.closed_count + 1 == state_.closed.size();
  if (last && failed.nature() != Nature::kServer) return;
  std::optional<Charge> charge;
  if (verdict.blames == Verdict::Blames::kServer) {
    charge = servers_.strike(now_, suspect, job.spec.user, event.reason, failed.nature());
  }
  if (!charge && failed.servers.size() == 1) {
    charge = servers_.died(now_, suspect, job.spec.user, event.reason, event.ran, failed.nature());
  }
  if (charge) quarantine({suspect, *charge, event.job}, servers_.drained_until(suspect));
}

void Engine::quarantine(Quarantine quarantine, Instant until) {
  drains_.emplace_back(until, quarantine.server);
  apply(NodeClosed{quarantine.server});
  decided_.quarantines.push_back(std::move(quarantine));
}

// If it could run anywhere else, on what is open. Otherwise there is nothing to wait for.
void Engine::avoid(JobId job, std::vector<NodeId> servers) {
  std::vector<NodeId> gone = servers;
  for (std::size_t i = 0; i < state_.closed.size(); ++i) {
    if (state_.closed[NodeId(i)] != 0) gone.push_back(NodeId(i));
  }
  if (servers.empty() || !planner_->could_avoid(state_.jobs[job].spec, gone)) return;
  std::sort(servers.begin(), servers.end());
  state_.avoided[job] = {std::move(servers), Instant::never()};
}

void Engine::begin_patience(JobId job) {
  const auto found = state_.avoided.find(job);
  if (found == state_.avoided.end()) return;
  found->second.until = now_ + kPatience;
  patience_.add(found->second.until, job);
}

// Those that have got their GPUs since, or wait for another time.
void Engine::drop_void_patience() {
  while (!patience_.empty()) {
    const auto [until, job] = patience_.first();
    const auto found = state_.avoided.find(job);
    if (found != state_.avoided.end() && found->second.until == until &&
        state_.jobs[job].state == JobState::kWaiting) {
      return;
    }
    patience_.drop_first();
  }
}

void Engine::release_parked() {
  while (!parked_.empty() && parked_.first().until <= now_) {
    const JobId job = parked_.first().job;
    parked_.drop_first();
    if (state_.jobs[job].state == JobState::kParked) wait_again(job);
  }
  for (drop_void_patience(); !patience_.empty() && patience_.first().until <= now_;
       drop_void_patience()) {
    const JobId job = patience_.first().job;
    state_.avoided.erase(job);  // Which makes its entry void.
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
