#include "sim/forecast/lookahead.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace muster {

namespace {

// No plan looks further ahead, and sums of times stay far below the maximum of the clock.
constexpr double kMaxUs = 100.0 * 365 * 86'400 * 1e6;

}  // namespace

Lookahead::Lookahead(const Engine& engine, Instant now, std::vector<Duration> work_left,
                     const LookaheadCosts& costs)
    : engine_(engine), now_(now), wake_(engine.wake()), costs_(costs) {
  const State& state = engine_.state();
  work_left.resize(state.jobs.size());
  runs_.resize(state.jobs.size());
  for (std::size_t i = 0; i < runs_.size(); ++i) runs_[i].left_us = work_left[i].us();
  for (const JobId job : state.placed) take_over(job);
  for (const Lease& lease : state.leases) {
    if (lease.state != Lease::State::kStopping) continue;
    event_queue_.set(lease.job,
                     {now_ + costs_.save, lease.job, EventQueue::Kind::kStopped, lease.epoch});
  }
}

void Lookahead::take_over(JobId job) {
  const Lease& lease = engine_.lease(job);
  if (lease.state == Lease::State::kRunning) set_speed(job, engine_.state().jobs[job].speed);
  if (lease.state != Lease::State::kOrdered) return;
  event_queue_.set(job, {now_, job, EventQueue::Kind::kStarted, lease.epoch});
}

void Lookahead::settle(JobId job) {
  Run& run = runs_[job.index()];
  const double done = static_cast<double>((now_ - run.since).us()) * run.speed;
  run.left_us -= std::min(run.left_us, static_cast<std::int64_t>(std::min(done, kMaxUs)));
  run.since = now_;
}

void Lookahead::set_speed(JobId job, double speed) {
  settle(job);
  Run& run = runs_[job.index()];
  run.speed = speed;
  const double takes = static_cast<double>(run.left_us) / speed;
  if (!(takes < kMaxUs)) return event_queue_.clear(job);
  const Duration left = Duration::micros(static_cast<std::int64_t>(std::ceil(takes)));
  event_queue_.set(job, {now_ + left, job, EventQueue::Kind::kFinish, engine_.lease(job).epoch});
}

JobId Lookahead::submit(const JobSpec& spec, Duration work) {
  const JobId job(runs_.size());
  runs_.push_back({work.us(), now_, 0});
  events_.push_back(JobSubmitted{spec});
  step();
  return job;
}

void Lookahead::tell(std::span<const Event> events) {
  events_.insert(events_.end(), events.begin(), events.end());
  step();
}

void Lookahead::step() {
  // Starts that take no time are events of the same instant.
  do {
    const std::vector<Event> events = std::exchange(events_, {});
    for (const Action& action : engine_.step(now_, events)) carry_out(action);
  } while (!events_.empty());
}

void Lookahead::carry_out(const Action& action) {
  const JobId job = action.job;
  switch (action.kind) {
    case Action::Kind::kStart:
      started_.push_back(job);
      if (action.epoch > 1) {
        event_queue_.set(job,
                         {now_ + costs_.restart, job, EventQueue::Kind::kStarted, action.epoch});
      } else {
        pass({now_, job, EventQueue::Kind::kStarted, action.epoch});
      }
      return;
    case Action::Kind::kStop:
      settle(job);
      runs_[job.index()].speed = 0;
      event_queue_.set(job, {now_ + costs_.save, job, EventQueue::Kind::kStopped, action.epoch});
      return;
    case Action::Kind::kResize:
      if (runs_[job.index()].speed > 0) set_speed(job, engine_.lease(job).speed);
      return;
    case Action::Kind::kReject:
    case Action::Kind::kGiveUp:
    case Action::Kind::kShare:
      return;
    case Action::Kind::kWakeAt:
      wake_ = action.at;
      return;
  }
}

void Lookahead::pass(const EventQueue::Entry& entry) {
  const JobId job = entry.job;
  event_queue_.clear(job);
  if (entry.kind == EventQueue::Kind::kStarted) {
    runs_[job.index()].since = now_;
    set_speed(job, engine_.lease(job).speed);
    events_.push_back(LeaseStarted{job, entry.tag});
    return;
  }
  settle(job);
  runs_[job.index()].speed = 0;
  const bool finished = entry.kind == EventQueue::Kind::kFinish;
  if (finished) ended_.push_back(job);
  events_.push_back(
      LeaseEnded{job, entry.tag, finished ? LeaseOutcome::kCompleted : LeaseOutcome::kStopped});
}

void Lookahead::arrive() {
  for (; arrived_ < arrivals_.size() && arrivals_[arrived_].at <= now_; ++arrived_) {
    const FutureArrival& arrival = arrivals_[arrived_];
    if (arrival.patience < kHorizon - now_) {
      expect_cancel(JobId(runs_.size()), now_ + arrival.patience);
    }
    runs_.push_back({arrival.work.us(), now_, 0});
    events_.push_back(JobSubmitted{arrival.spec});
  }
}

void Lookahead::cancel() {
  for (; !cancels_.empty() && cancels_.begin()->first <= now_; cancels_.erase(cancels_.begin())) {
    const JobId job = cancels_.begin()->second;
    const auto& rows = engine_.state().jobs;
    if (!rows.contains(job)) continue;  // It arrives in this step.
    const bool waits = rows[job].state == JobState::kWaiting && rows[job].epoch == 0;
    if (!waits) continue;
    cancelled_.push_back(job);
    events_.push_back(JobCancelled{job});
  }
}

bool Lookahead::advance(Instant horizon) {
  Instant next = std::min(event_queue_.first().at, wake_);
  if (arrived_ < arrivals_.size()) next = std::min(next, arrivals_[arrived_].at);
  if (!cancels_.empty()) next = std::min(next, cancels_.begin()->first);
  if (!nodes_.empty()) next = std::min(next, nodes_.begin()->first);
  if (next >= horizon) return false;
  now_ = std::max(next, now_);
  while (event_queue_.first().at <= now_) pass(EventQueue::Entry(event_queue_.first()));
  arrive();
  cancel();
  for (; !nodes_.empty() && nodes_.begin()->first <= now_; nodes_.erase(nodes_.begin())) {
    events_.push_back(NodeOpened{nodes_.begin()->second});
  }
  if (wake_ <= now_) {
    wake_ = Instant::never();
    events_.push_back(TimerFired{});
  }
  step();
  return true;
}

Instant Lookahead::start_of(JobId job, Instant horizon) {
  const auto has_lease = [&] {
    const std::int32_t row = engine_.state().jobs[job].lease;
    return row != kNoRow &&
           engine_.state().leases[static_cast<std::size_t>(row)].state >= Lease::State::kOrdered;
  };
  while (!has_lease()) {
    if (!advance(horizon)) return Instant::never();
  }
  return now_;
}

}  // namespace muster
