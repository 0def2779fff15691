#include "core/engine.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace muster {

Engine::Engine(const Cluster& cluster, std::unique_ptr<Planner> planner,
               const EngineOptions& options)
    : state_(cluster, options.pooling),
      planner_(std::move(planner)),
      options_(options),
      estimator_(options.estimates) {
  MUSTER_CHECK(options.quantum > Duration());
  state_.stopping.resize(cluster.topology().node_count());
}

const Lease& Engine::lease(JobId job) const {
  MUSTER_CHECK(state_.jobs[job].lease != kNoRow);
  return state_.leases[static_cast<std::size_t>(state_.jobs[job].lease)];
}

const std::string& Engine::why_rejected(JobId job) const {
  MUSTER_CHECK(rejection_.contains(job) && rejection_[job] != 0);
  return rejections_[rejection_[job] - 1];
}

void Engine::emit(Action::Kind kind, JobId job, Epoch epoch, Instant at) {
  actions_.push_back({kind, job, epoch, at});
  if (kind == Action::Kind::kWakeAt) return;  // A wish, not a decision.
  digest_.add(static_cast<std::uint64_t>(kind) | std::uint64_t{epoch} << 8);
  digest_.add((std::uint64_t{job.index()} << 32) ^ static_cast<std::uint64_t>(now_.us()));
  if (kind == Action::Kind::kReject) return;
  ++counters_.decisions;
  if (kind == Action::Kind::kStop) return;
  for (const Share& share : lease(job).placement) {
    digest_.add(share.slots ^ (std::uint64_t{share.node.index()} << 40));
    digest_.add(share.cpu_milli ^ (share.mem_mib << 24));
  }
}

std::span<const Action> Engine::step(Instant now, std::span<const Event> events) {
  MUSTER_CHECK(now >= now_);
  now_ = now;
  actions_.clear();
  counters_.events += events.size();
  for (const Event& event : events) {
    std::visit([this](const auto& e) { apply(e); }, event);
  }
  if (options_.round > Duration()) {
    const bool due =
        news_ || options_.plan_idle_rounds || (planner_->drifts() && state_.waiting > 0);
    if (on_tick() && due && last_plan_ != now) plan(Occasion::kTick);
  } else {
    const bool tick = planner_->drifts() && state_.waiting > 0 && on_tick() && last_plan_ != now;
    if (news_ || tick) plan(tick ? Occasion::kTick : Occasion::kNews);
  }
  start_cleared();
  ask_for_wake();
  return actions_;
}

bool Engine::on_tick() const {
  if (options_.round == Duration()) return now_.us() % options_.quantum.us() == 0;
  const Duration since = now_ - options_.first_round;
  return since >= Duration() && since.us() % options_.round.us() == 0;
}

void Engine::ask_for_wake() {
  const bool drifting = planner_->drifts() && state_.waiting > 0;
  Instant wake = Instant::never();
  if (options_.round > Duration()) {
    const bool idle_too =
        options_.plan_idle_rounds && (!state_.placed.empty() || state_.waiting > 0);
    if (news_ || drifting || idle_too) {
      const Duration since = now_ - options_.first_round;
      wake = since < Duration()
                 ? options_.first_round
                 : options_.first_round + options_.round * (since.us() / options_.round.us() + 1);
    }
  } else if (drifting) {
    wake = Instant::micros((now_.us() / options_.quantum.us() + 1) * options_.quantum.us());
  }
  if (wake == wake_) return;
  wake_ = wake;
  emit(Action::Kind::kWakeAt, JobId(), 0, wake);
}

void Engine::apply(const JobSubmitted& event) {
  Job job;
  job.spec = event.spec;
  job.submitted = job.since = now_;
  job.estimate = estimator_.estimate(event.spec);
  const JobId id = state_.jobs.push_back(std::move(job));
  if (std::optional<std::string> why = planner_->refuse(event.spec)) {
    state_.jobs[id].state = JobState::kRejected;
    rejections_.push_back(std::move(*why));
    rejection_.resize(state_.jobs.size());
    rejection_[id] = static_cast<std::uint32_t>(rejections_.size());
    emit(Action::Kind::kReject, id, 0, now_);
    return;
  }
  ++state_.waiting;
  planner_->enqueue(View(state_, now_), id);
  news_ = true;
}

void Engine::apply(const JobCancelled& event) {
  if (!state_.jobs.contains(event.job)) return;
  Job& job = state_.jobs[event.job];
  if (job.state != JobState::kWaiting && job.state != JobState::kPlaced) return;
  planner_->forget(View(state_, now_), event.job);
  if (job.state == JobState::kPlaced) {
    order_stop(job);
  } else {
    --state_.waiting;
  }
  job.state = JobState::kCancelled;
  news_ = true;
}

void Engine::apply(const LeaseStarted& event) {
  if (!state_.jobs.contains(event.job)) {
    ++counters_.stale;
    return;
  }
  Job& job = state_.jobs[event.job];
  if (job.lease == kNoRow || job.epoch != event.epoch) {
    ++counters_.stale;
    return;
  }
  Lease& lease = state_.leases[static_cast<std::size_t>(job.lease)];
  if (lease.state != Lease::State::kOrdered) return;
  state_.settle(job, now_);
  lease.state = Lease::State::kRunning;
  job.speed = lease.speed;
}

void Engine::apply(const LeaseEnded& event) {
  if (!state_.jobs.contains(event.job)) {
    ++counters_.stale;
    return;
  }
  Job& job = state_.jobs[event.job];
  const auto is = [&](std::int32_t row) {
    return row != kNoRow && state_.leases[static_cast<std::size_t>(row)].epoch == event.epoch;
  };
  const bool current = is(job.lease);
  if (!current && !is(job.ending)) {
    ++counters_.stale;
    return;
  }
  digest_.add(std::uint64_t{event.epoch} << 8 | 0x80);
  digest_.add((std::uint64_t{event.job.index()} << 32) ^ static_cast<std::uint64_t>(now_.us()));
  if (current) {
    MUSTER_CHECK(event.outcome == LeaseOutcome::kCompleted);  // Nobody told it to stop.
    planner_->forget(View(state_, now_), event.job);
    revoke(job);
  } else {
    const std::int32_t row = std::exchange(job.ending, kNoRow);
    Lease& ended = state_.leases[static_cast<std::size_t>(row)];
    for (const Share& share : ended.placement) std::erase(state_.stopping[share.node], row);
    // Whoever waited for these servers may start, unless more news or the plan says otherwise.
    for (const auto& [waiter, epoch] : ended.blocked) {
      const std::int32_t waiting_row = state_.jobs[waiter].lease;
      if (waiting_row == kNoRow) continue;
      Lease& lease = state_.leases[static_cast<std::size_t>(waiting_row)];
      if (lease.epoch != epoch || lease.state != Lease::State::kPromised) continue;
      if (--lease.blockers == 0) cleared_.emplace_back(waiter, epoch);
    }
    release(row);
    if (event.outcome == LeaseOutcome::kStopped) return;
    // It finished before it could be stopped: what we planned for it since is void.
    if (job.state == JobState::kPlaced) {
      planner_->forget(View(state_, now_), event.job);
      order_stop(job);
    } else if (job.state == JobState::kWaiting) {
      planner_->forget(View(state_, now_), event.job);
      --state_.waiting;
    }
  }
  if (job.state != JobState::kCancelled) {
    job.state = JobState::kDone;
    estimator_.learn(job.spec, job.work_done);
  }
  news_ = true;
}

std::int32_t Engine::new_lease(JobId id, Placement placement) {
  std::int32_t row;
  if (state_.unused.empty()) {
    row = static_cast<std::int32_t>(state_.leases.size());
    state_.leases.emplace_back();
  } else {
    row = state_.unused.back();
    state_.unused.pop_back();
  }
  Lease& lease = state_.leases[static_cast<std::size_t>(row)];
  lease.job = id;
  lease.epoch = ++state_.jobs[id].epoch;
  lease.placement = std::move(placement);
  lease.total = total_of(lease.placement);
  lease.speed = state_.cluster->speed(state_.jobs[id].spec, lease.placement);
  return row;
}

void Engine::release(std::int32_t row) {
  Lease& lease = state_.leases[static_cast<std::size_t>(row)];
  lease.state = Lease::State::kUnused;
  lease.blocked.clear();
  lease.blockers = 0;
  state_.unused.push_back(row);
}

void Engine::revoke(Job& job) {
  state_.settle(job, now_);
  const std::int32_t row = std::exchange(job.lease, kNoRow);
  for (const Share& share : state_.leases[static_cast<std::size_t>(row)].placement) {
    state_.books.give(share);
  }
  job.speed = 0;
  const JobId last = state_.placed.back();
  state_.placed[static_cast<std::size_t>(job.placed)] = last;
  state_.jobs[last].placed = job.placed;
  state_.placed.pop_back();
  job.placed = kNoRow;
  release(row);
}

// For a lease whose books are settled elsewhere (cancel, void plans): gives back and orders the
// stop.
void Engine::order_stop(Job& job) {
  const std::int32_t row = job.lease;
  Lease& lease = state_.leases[static_cast<std::size_t>(row)];
  const JobId id = lease.job;
  const Epoch epoch = lease.epoch;
  if (lease.state == Lease::State::kPromised) {  // Never started: nothing to stop.
    revoke(job);
    return;
  }
  const Placement held = lease.placement;
  revoke(job);
  const std::int32_t ending = state_.unused.back();  // The row just released, kept for the ending.
  state_.unused.pop_back();
  Lease& stopping = state_.leases[static_cast<std::size_t>(ending)];
  stopping.state = Lease::State::kStopping;
  stopping.placement = held;
  for (const Share& share : held) state_.stopping[share.node].push_back(ending);
  job.ending = ending;
  emit(Action::Kind::kStop, id, epoch, now_);
}

void Engine::plan(Occasion occasion) {
  news_ = false;
  last_plan_ = now_;
  ++counters_.plans;
  Draft draft(state_, now_);
  planner_->plan(View(state_, now_), draft, occasion);
  draft.forget_pointless_stops();
  ink(draft);
}

void Engine::ink(Draft& draft) {
  // The books already say what the draft says. Take what changed out of them again, so that each
  // order below keeps books and leases in step on its own.
  for (Draft::Pencil& mine : draft.pencils_) {
    if (mine.has) draft.give(mine.placement);
  }
  for (Draft::Pencil& mine : draft.pencils_) {
    Job& job = state_.jobs[mine.job];
    job.pencil = kNoRow;
    if (mine.had) draft.take(state_.leases[static_cast<std::size_t>(job.lease)].placement);
  }
  // Stops first, so that what they free is free; then resizes; then starts.
  for (Draft::Pencil& mine : draft.pencils_) {
    if (!mine.had) continue;
    Job& job = state_.jobs[mine.job];
    const Lease& lease = state_.leases[static_cast<std::size_t>(job.lease)];
    if (mine.has && same_slots(lease.placement, mine.placement)) continue;
    if (mine.has && job.ending != kNoRow) {
      // Still giving up an earlier lease: it cannot give up two at once, so it stays where it is
      // promised to be unless it never started there.
      MUSTER_CHECK(lease.state == Lease::State::kPromised);
    }
    order_stop(job);
    job.state = JobState::kWaiting;
    if (!mine.has) {
      ++state_.waiting;
      planner_->enqueue(View(state_, now_), mine.job);
    }
  }
  for (Draft::Pencil& mine : draft.pencils_) {
    Job& job = state_.jobs[mine.job];
    if (!mine.has || job.lease == kNoRow) continue;
    Lease& lease = state_.leases[static_cast<std::size_t>(job.lease)];
    for (const Share& share : lease.placement) state_.books.give(share);
    if (lease.placement == mine.placement) continue;
    state_.settle(job, now_);
    lease.placement = mine.placement;
    lease.total = total_of(lease.placement);
    lease.speed = state_.cluster->speed(job.spec, lease.placement);
    if (lease.state == Lease::State::kRunning) job.speed = lease.speed;
    if (lease.state == Lease::State::kPromised) continue;  // Not started: nothing to tell anyone.
    emit(Action::Kind::kResize, mine.job, lease.epoch, now_);
  }
  for (Draft::Pencil& mine : draft.pencils_) {
    Job& job = state_.jobs[mine.job];
    if (!mine.has || job.lease == kNoRow) continue;
    for (const Share& share : mine.placement) state_.books.take(share);
  }
  for (Draft::Pencil& mine : draft.pencils_) {
    if (!mine.has || state_.jobs[mine.job].lease != kNoRow) continue;
    if (!mine.had) --state_.waiting;
    grant(mine.job, std::move(mine.placement));
  }
}

void Engine::grant(JobId id, Placement placement) {
  const std::int32_t row = new_lease(id, std::move(placement));
  Job& job = state_.jobs[id];
  state_.settle(job, now_);
  job.lease = row;
  job.state = JobState::kPlaced;
  job.placed = static_cast<std::int32_t>(state_.placed.size());
  state_.placed.push_back(id);
  Lease& lease = state_.leases[static_cast<std::size_t>(row)];
  lease.state = Lease::State::kPromised;
  // A lease starts when every stopping one on its servers is gone, its own job's included. Waiting
  // for a neighbour whose slots it does not want is the price of not counting CPUs twice.
  const auto wait_for = [&](std::int32_t stopping) {
    Lease& other = state_.leases[static_cast<std::size_t>(stopping)];
    other.blocked.emplace_back(id, lease.epoch);
    ++lease.blockers;
  };
  for (const Share& share : lease.placement) {
    state_.books.take(share);
    for (const std::int32_t stopping : state_.stopping[share.node]) {
      if (stopping != job.ending) wait_for(stopping);
    }
  }
  if (job.ending != kNoRow) wait_for(job.ending);
  start_if_clear(lease);
}

void Engine::start_cleared() {
  for (const auto& [job, epoch] : cleared_) {
    const std::int32_t row = state_.jobs[job].lease;
    if (row == kNoRow) continue;
    Lease& lease = state_.leases[static_cast<std::size_t>(row)];
    if (lease.epoch == epoch && lease.state == Lease::State::kPromised) start_if_clear(lease);
  }
  cleared_.clear();
}

void Engine::start_if_clear(Lease& lease) {
  if (lease.blockers > 0) return;
  Job& job = state_.jobs[lease.job];
  state_.settle(job, now_);
  lease.state = Lease::State::kOrdered;
  emit(Action::Kind::kStart, lease.job, lease.epoch, now_);
}

}  // namespace muster
