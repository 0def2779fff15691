// The engine when things break: attempts that fail, and servers that come and go.

#include <algorithm>
#include <functional>
#include <utility>

#include "base/check.h"
#include "core/engine.h"

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

Instant Engine::parked_until(JobId id) const {
  const auto found = std::find_if(parked_.begin(), parked_.end(),
                                  [&](const Parked& parked) { return parked.job == id; });
  return found == parked_.end() ? Instant::never() : found->until;
}

void Engine::wait_again(JobId id) {
  Job& job = state_.jobs[id];
  job.state = JobState::kWaiting;
  ++state_.waiting;
  planner_->enqueue(View(state_, now_), id);
  news_ = true;
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
  for (const Share& share : lease(event.job).placement) failed.servers.push_back(share.node);
  std::vector<FailedAttempt>& earlier = failures_[event.job];
  const bool known_bad = inputs_.known_bad(job.spec.user, job.spec.name);
  const std::int32_t own = job.spec.retries;
  const RetryPolicy rule = own < 0    ? options_.retry
                           : own == 0 ? RetryPolicy::none()
                                      : RetryPolicy::fixed(own);
  const Verdict verdict = rule.decide(failed, earlier, known_bad);
  if (verdict.blames == Verdict::Blames::kUser) {
    inputs_.failed(job.spec.user, job.spec.name, event.job, event.reason);
  }
  const NodeId suspect = failed.servers.front();
  earlier.push_back(std::move(failed));
  if (verdict.blames == Verdict::Blames::kServer && state_.closed[suspect] == 0 &&
      servers_.strike(now_, suspect, job.spec.user, event.reason)) {
    drains_.emplace_back(servers_.drained_until(suspect), suspect);
    apply(NodeClosed{suspect});
  }
  planner_->forget(View(state_, now_), event.job, Farewell::kCancelled);
  give_back(job);
  fall_back(job);
  revoke(job);
  news_ = true;
  if (!verdict.again()) {
    job.state = JobState::kFailed;
    failures_.erase(event.job);
    emit(Action::Kind::kGiveUp, event.job, event.epoch, now_);
    return;
  }
  if (verdict.wait == Duration()) return wait_again(event.job);
  job.state = JobState::kParked;
  parked_.push_back({now_ + verdict.wait, event.job});
  std::push_heap(parked_.begin(), parked_.end(), std::greater<>());
}

void Engine::release_parked() {
  while (!parked_.empty() && parked_.front().until <= now_) {
    std::pop_heap(parked_.begin(), parked_.end(), std::greater<>());
    const JobId job = parked_.back().job;
    parked_.pop_back();
    if (state_.jobs[job].state == JobState::kParked) wait_again(job);
  }
  for (const auto& [until, node] : drains_) {
    if (until <= now_) apply(NodeOpened{node});
  }
  std::erase_if(drains_, [this](const auto& drain) { return drain.first <= now_; });
}

void Engine::apply(const NodeClosed& event) {
  if (event.node.index() >= state_.closed.size() || state_.closed[event.node] != 0) return;
  state_.closed[event.node] = 1;
  ++closed_count_;
  // Whoever was only promised a part of it goes back to the queue.
  const std::vector<JobId> placed = state_.placed;
  for (const JobId id : placed) {
    Job& job = state_.jobs[id];
    const Lease& mine = lease(id);
    if (mine.state != Lease::State::kPromised) continue;
    const bool there = std::any_of(mine.placement.begin(), mine.placement.end(),
                                   [&](const Share& share) { return share.node == event.node; });
    if (!there) continue;
    give_back(job);
    revoke(job);
    wait_again(id);
  }
  news_ = true;
}

void Engine::apply(const NodeOpened& event) {
  if (event.node.index() >= state_.closed.size() || state_.closed[event.node] == 0) return;
  state_.closed[event.node] = 0;
  --closed_count_;
  Share share;
  share.node = event.node;
  share.slots = std::exchange(state_.blocked[event.node], SlotMask{0});
  if (share.slots != 0) state_.books.give(share);
  news_ = true;
}

// Before each plan: what has become free on a closed server is not to be had.
void Engine::block_closed() {
  if (!news_ || closed_count_ == 0) return;
  for (std::size_t i = 0; i < state_.closed.size(); ++i) {
    const NodeId node(i);
    if (state_.closed[node] == 0) continue;
    Share share;
    share.node = node;
    share.slots = state_.books.free_slots(node);
    if (share.slots == 0) continue;
    state_.books.take(share);
    state_.blocked[node] |= share.slots;
  }
}

}  // namespace muster
