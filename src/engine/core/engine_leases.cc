// Leases of the engine: grants, stops, resizes, and the commit of a draft.

#include <algorithm>
#include <utility>
#include <vector>

#include "base/types/check.h"
#include "engine/core/engine.h"

namespace muster {

namespace {

// Whether some node must provide more than before, for the same slots.
bool asks_for_more(const Placement& now, const Placement& before) {
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (now[i].cpu_milli > before[i].cpu_milli || now[i].mem_mib > before[i].mem_mib ||
        now[i].storage_kbps > before[i].storage_kbps) {
      return true;
    }
  }
  return false;
}

// Returns the minimum of each resource on each node, for the same slots.
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
  if (state_.leave_sharing_group(state_.leases[static_cast<std::size_t>(job.lease)].job)) return;
  for (const Share& share : state_.leases[static_cast<std::size_t>(job.lease)].placement) {
    state_.ledger.give(share);
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
  if (lease.resize_due) lease.placement = std::move(lease.told);  // Its actual resources.
  revoke(job);
  const std::int32_t ending = state_.unused.back();  // Reuses the row that revoke() just released.
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
  return {state_, now_, std::move(scratch_drafted_)};
}

void Engine::close_plan(Draft& draft) {
  record_plan(draft);
  commit(draft);
  scratch_drafted_ = std::move(draft.drafted_);
}

void Engine::plan(PlanTrigger trigger) {
  Draft draft = open_plan();
  planner_->plan(View(state_, now_), draft, trigger);
  draft.forget_pointless_stops();
  close_plan(draft);
  review_ = planner_->review_at();
  MUSTER_CHECK(review_ > now_);
}

// The Draft has already changed the ledger. This brings the leases in line with it.
void Engine::commit(Draft& draft) {
  bool resizes = false;
  for (const Draft::Drafted& mine : draft.drafted_) {
    Job& job = state_.jobs[mine.job];
    job.drafted = kNoRow;
    resizes = resizes || (mine.has && job.lease != kNoRow);
  }
  // Stops come first, so that their resources are free; then resizes; then starts.
  commit_stops(draft);
  if (resizes) commit_resizes(draft);
  for (Draft::Drafted& mine : draft.drafted_) {
    if (!mine.has || state_.jobs[mine.job].lease != kNoRow) continue;
    if (!mine.had) --state_.waiting;
    grant(mine.job, std::move(mine.placement));
  }
}

void Engine::commit_stops(Draft& draft) {
  for (Draft::Drafted& mine : draft.drafted_) {
    if (!mine.had) continue;
    Job& job = state_.jobs[mine.job];
    const Lease& lease = state_.leases[static_cast<std::size_t>(job.lease)];
    if (mine.has && same_slots(lease.placement, mine.placement)) continue;
    if (mine.has && job.ending != kNoRow) {
      // A job that is still stopping an earlier lease cannot stop a second one. So it may move only
      // if its planned lease has not started.
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

void Engine::commit_resizes(Draft& draft) {
  std::vector<JobId> shrinks;
  std::vector<JobId> grows;
  for (Draft::Drafted& mine : draft.drafted_) {
    Job& job = state_.jobs[mine.job];
    if (!mine.has || job.lease == kNoRow) continue;
    Lease& lease = state_.leases[static_cast<std::size_t>(job.lease)];
    if (lease.placement == mine.placement) continue;
    state_.settle(job, now_);
    if (!lease.resize_due) lease.told = lease.placement;
    lease.placement = mine.placement;
    lease.total = total_of(lease.placement);
    // The new placement cancels the old wait.
    lease.resize_due = false;
    lease.blockers = 0;
    ++lease.wait;
    if (lease.state == Lease::State::kPromised) {  // Not started: no resize to order.
      lease.speed = state_.cluster->speed(job.spec, lease.placement);
      wait_for_neighbors(lease);
      continue;
    }
    if (lease.placement == lease.told) continue;
    if (!asks_for_more(lease.placement, lease.told)) {
      shrinks.push_back(mine.job);
      continue;
    }
    // Resources of a stopping neighbor become available only when that lease has ended.
    wait_for_neighbors(lease);
    if (lease.blockers == 0) {
      grows.push_back(mine.job);
      continue;
    }
    // Reductions take effect immediately, because other leases depend on them.
    lease.resize_due = true;
    const Placement least = lesser_of(lease.told, lease.placement);
    if (std::exchange(lease.told, least) != least) shrinks.push_back(mine.job);
  }
  // Shrinks come before grows, so that the resources are free.
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
  wait_for_neighbors(lease);
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

// Skips leases that have not started: they read their GPU-sharing group when they start.
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

// A lease starts or grows when all stopping leases on its nodes, including that of its own job,
// have ended. It also waits for neighbors whose slots it does not need. Otherwise CPUs could be
// counted twice.
void Engine::wait_for_neighbors(Lease& lease) {
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
