#include "core/engine.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace muster {

namespace {

// Whether some server must give more than before, for the same slots.
bool asks_for_more(const Placement& now, const Placement& before) {
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (now[i].cpu_milli > before[i].cpu_milli || now[i].mem_mib > before[i].mem_mib ||
        now[i].storage_kbps > before[i].storage_kbps) {
      return true;
    }
  }
  return false;
}

// The smaller amount of each kind on each server, for the same slots.
Placement lesser_of(Placement a, const Placement& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i].cpu_milli = std::min(a[i].cpu_milli, b[i].cpu_milli);
    a[i].mem_mib = std::min(a[i].mem_mib, b[i].mem_mib);
    a[i].storage_kbps = std::min(a[i].storage_kbps, b[i].storage_kbps);
  }
  return a;
}

}  // namespace

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
  for (const Share& share : lease(job).in_force()) {
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
    if (on_tick() && due && last_plan_ != now) plan(news_ ? Occasion::kTick : Occasion::kIdleTick);
  } else {
    const bool tick = planner_->drifts() && state_.waiting > 0 && on_tick() && last_plan_ != now;
    if (news_ || tick) plan(tick ? Occasion::kTick : Occasion::kNews);
  }
  start_cleared();
  ask_for_wake();
  return actions_;
}

bool Engine::on_tick() const {
  if (now_ >= wake_) return true;  // The time asked for, or later if the driver was late.
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
  if (current && event.outcome == LeaseOutcome::kStopped) {  // Nobody told it to: it waits again.
    revoke(job);
    job.state = JobState::kWaiting;
    ++state_.waiting;
    planner_->enqueue(View(state_, now_), event.job);
    news_ = true;
    return;
  }
  if (current) {
    planner_->forget(View(state_, now_), event.job);
    revoke(job);
  } else {
    const std::int32_t row = std::exchange(job.ending, kNoRow);
    Lease& ended = state_.leases[static_cast<std::size_t>(row)];
    for (const Share& share : ended.placement) std::erase(state_.stopping[yard(share.node)], row);
    // Whoever waited for these servers may start or grow, unless more news or the plan says
    // otherwise.
    for (const Lease::Blocked& waiter : ended.blocked) {
      const std::int32_t waiting_row = state_.jobs[waiter.job].lease;
      if (waiting_row == kNoRow) continue;
      Lease& lease = state_.leases[static_cast<std::size_t>(waiting_row)];
      if (lease.epoch != waiter.epoch || lease.wait != waiter.wait) continue;
      if (--lease.blockers > 0) continue;
      cleared_.emplace_back(waiter.job, waiter.epoch);
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
  lease.resize_due = false;
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
  const Placement held = lease.in_force();
  revoke(job);
  const std::int32_t ending = state_.unused.back();  // The row just released, kept for the ending.
  state_.unused.pop_back();
  Lease& stopping = state_.leases[static_cast<std::size_t>(ending)];
  stopping.state = Lease::State::kStopping;
  stopping.placement = held;
  for (const Share& share : held) state_.stopping[yard(share.node)].push_back(ending);
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
  std::vector<JobId> shrinks;
  std::vector<JobId> grows;
  for (Draft::Pencil& mine : draft.pencils_) {
    Job& job = state_.jobs[mine.job];
    if (!mine.has || job.lease == kNoRow) continue;
    Lease& lease = state_.leases[static_cast<std::size_t>(job.lease)];
    for (const Share& share : lease.placement) state_.books.give(share);
    if (lease.placement == mine.placement) continue;
    state_.settle(job, now_);
    if (!lease.resize_due) lease.told = lease.placement;
    lease.placement = mine.placement;
    lease.total = total_of(lease.placement);
    // What it waited for is replaced by what it must wait for now.
    lease.resize_due = false;
    lease.blockers = 0;
    ++lease.wait;
    if (lease.state == Lease::State::kPromised) {  // Not started: nothing to tell anyone.
      lease.speed = state_.cluster->speed(job.spec, lease.placement);
      wait_for_neighbours(lease);
      continue;
    }
    if (lease.placement == lease.told) continue;
    if (!asks_for_more(lease.placement, lease.told)) {
      shrinks.push_back(mine.job);
      continue;
    }
    // It may grow into what a stopping neighbour still holds only when that is gone.
    wait_for_neighbours(lease);
    if (lease.blockers == 0) {
      grows.push_back(mine.job);
      continue;
    }
    // What it gives up elsewhere or of another kind it gives up at once: others count on it.
    lease.resize_due = true;
    const Placement least = lesser_of(lease.told, lease.placement);
    if (std::exchange(lease.told, least) != least) shrinks.push_back(mine.job);
  }
  // Those that give something up come before those that get it.
  for (const std::vector<JobId>* resized : {&shrinks, &grows}) {
    for (const JobId job : *resized) {
      order_resize(state_.leases[static_cast<std::size_t>(state_.jobs[job].lease)]);
    }
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
  for (const Share& share : lease.placement) state_.books.take(share);
  wait_for_neighbours(lease);
  start_if_clear(lease);
}

void Engine::start_cleared() {
  for (const auto& [job, epoch] : cleared_) {
    const std::int32_t row = state_.jobs[job].lease;
    if (row == kNoRow) continue;
    Lease& lease = state_.leases[static_cast<std::size_t>(row)];
    if (lease.epoch != epoch || lease.blockers > 0) continue;
    if (lease.state == Lease::State::kPromised) {
      start_if_clear(lease);
    } else if (std::exchange(lease.resize_due, false)) {
      order_resize(lease);
    }
  }
  cleared_.clear();
}

// A lease starts or grows when every stopping one on its servers is gone, its own job's included.
// Waiting for a neighbour whose slots it does not want is the price of not counting CPUs twice.
void Engine::wait_for_neighbours(Lease& lease) {
  const auto wait_for = [&](std::int32_t stopping) {
    state_.leases[static_cast<std::size_t>(stopping)].blocked.push_back(
        {lease.job, lease.epoch, lease.wait});
    ++lease.blockers;
  };
  const std::int32_t own = state_.jobs[lease.job].ending;
  for (const Share& share : lease.placement) {
    for (const std::int32_t stopping : state_.stopping[yard(share.node)]) {
      if (stopping != own) wait_for(stopping);
    }
  }
  if (own != kNoRow) wait_for(own);
}

void Engine::order_resize(Lease& lease) {
  Job& job = state_.jobs[lease.job];
  state_.settle(job, now_);
  lease.speed = state_.cluster->speed(job.spec, lease.in_force());
  if (lease.state == Lease::State::kRunning) job.speed = lease.speed;
  emit(Action::Kind::kResize, lease.job, lease.epoch, now_);
}

void Engine::start_if_clear(Lease& lease) {
  if (lease.blockers > 0) return;
  Job& job = state_.jobs[lease.job];
  state_.settle(job, now_);
  lease.state = Lease::State::kOrdered;
  emit(Action::Kind::kStart, lease.job, lease.epoch, now_);
}

}  // namespace muster
