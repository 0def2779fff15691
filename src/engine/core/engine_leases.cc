// The engine's dealings with leases: granting, stopping, resizing, and inking a draft.

#include <algorithm>
#include <utility>
#include <vector>

#include "base/types/check.h"
#include "engine/core/engine.h"

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

void Engine::give_back(const Job& job) {
  if (state_.leave_berth(state_.leases[static_cast<std::size_t>(job.lease)].job)) return;
  for (const Share& share : state_.leases[static_cast<std::size_t>(job.lease)].placement) {
    state_.books.give(share);
  }
}

void Engine::revoke(Job& job) {
  state_.settle(job, now_);
  const std::int32_t row = std::exchange(job.lease, kNoRow);
  job.speed = 0;
  const JobId last = state_.placed.back();
  state_.placed[static_cast<std::size_t>(job.placed)] = last;
  state_.jobs[last].placed = job.placed;
  state_.placed.pop_back();
  job.placed = kNoRow;
  state_.release_lease(row);
}

void Engine::order_stop(Job& job) {
  const std::int32_t row = job.lease;
  Lease& lease = state_.leases[static_cast<std::size_t>(row)];
  const JobId id = lease.job;
  const Epoch epoch = lease.epoch;
  if (lease.state == Lease::State::kPromised) {  // Never started: nothing to stop.
    revoke(job);
    return;
  }
  if (lease.resize_due) lease.placement = std::move(lease.told);  // What it holds for real.
  revoke(job);
  const std::int32_t ending = state_.unused.back();  // The row just released, kept for the ending.
  state_.unused.pop_back();
  Lease& stopping = state_.leases[static_cast<std::size_t>(ending)];
  stopping.state = Lease::State::kStopping;
  for (const Share& share : stopping.placement)
    state_.stopping[state_.yard(share.node)].push_back(ending);
  job.ending = ending;
  emit(Action::Kind::kStop, id, epoch, now_);
}

Draft Engine::open_plan() {
  news_ = false;
  last_plan_ = now_;
  ++counters_.plans;
  if (options_.record_plans) record_blocked();
  return {state_, now_, std::move(paper_)};
}

void Engine::close_plan(Draft& draft) {
  record_plan(draft);
  ink(draft);
  paper_ = std::move(draft.pencils_);
}

void Engine::plan(Occasion occasion) {
  Draft draft = open_plan();
  planner_->plan(View(state_, now_), draft, occasion);
  draft.forget_pointless_stops();
  close_plan(draft);
  review_ = planner_->review_at();
  MUSTER_CHECK(review_ > now_);
}

// The books already say what the draft says; what follows brings the leases in step with them.
void Engine::ink(Draft& draft) {
  for (const Draft::Pencil& mine : draft.pencils_) state_.jobs[mine.job].pencil = kNoRow;
  // Stops first, so that what they free is free; then resizes; then starts.
  ink_stops(draft);
  ink_resizes(draft);
  for (Draft::Pencil& mine : draft.pencils_) {
    if (!mine.has || state_.jobs[mine.job].lease != kNoRow) continue;
    if (!mine.had) --state_.waiting;
    grant(mine.job, std::move(mine.placement));
  }
}

void Engine::ink_stops(Draft& draft) {
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
      begin_patience(mine.job);
      ++state_.waiting;
      planner_->enqueue(View(state_, now_), mine.job);
    }
  }
}

void Engine::ink_resizes(Draft& draft) {
  std::vector<JobId> shrinks;
  std::vector<JobId> grows;
  for (Draft::Pencil& mine : draft.pencils_) {
    Job& job = state_.jobs[mine.job];
    if (!mine.has || job.lease == kNoRow) continue;
    Lease& lease = state_.leases[static_cast<std::size_t>(job.lease)];
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
}

void Engine::grant(JobId id, Placement placement) {
  const std::int32_t row = state_.add_lease(id, std::move(placement));
  Job& job = state_.jobs[id];
  state_.settle(job, now_);
  job.lease = row;
  job.state = JobState::kPlaced;
  job.placed = static_cast<std::int32_t>(state_.placed.size());
  state_.placed.push_back(id);
  Lease& lease = state_.leases[static_cast<std::size_t>(row)];
  lease.state = Lease::State::kPromised;
  lease.ordered = now_;
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

// Leases that have not started yet will find their company there when they do.
void Engine::tell_reseated() {
  if (state_.reseated.empty()) return;
  std::sort(state_.reseated.begin(), state_.reseated.end());
  const auto last = std::unique(state_.reseated.begin(), state_.reseated.end());
  for (auto job = state_.reseated.begin(); job != last; ++job) {
    const std::int32_t row = state_.jobs[*job].lease;
    if (row == kNoRow) continue;
    const Lease& lease = state_.leases[static_cast<std::size_t>(row)];
    if (lease.state == Lease::State::kPromised) continue;
    emit(Action::Kind::kShare, *job, lease.epoch, now_);
  }
  state_.reseated.clear();
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
    for (const std::int32_t stopping : state_.stopping[state_.yard(share.node)]) {
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
  lease.ordered = now_;
  emit(Action::Kind::kStart, lease.job, lease.epoch, now_);
}

}  // namespace muster
