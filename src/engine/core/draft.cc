#include "engine/core/draft.h"

#include <utility>

#include "base/types/check.h"

namespace muster {

Draft::Pencil& Draft::pencil(JobId id) {
  Job& job = state_->jobs[id];
  if (job.pencil == kNoRow) {
    job.pencil = static_cast<std::int32_t>(pencils_.size());
    Pencil& fresh = pencils_.emplace_back();
    fresh.job = id;
    if (job.lease != kNoRow) {
      fresh.had = fresh.has = true;
      fresh.placement = state_->leases[static_cast<std::size_t>(job.lease)].placement;
    }
  }
  return pencils_[static_cast<std::size_t>(job.pencil)];
}

const Placement* Draft::placement(JobId id) const {
  const Job& job = state_->jobs[id];
  if (job.pencil != kNoRow) {
    const Pencil& pencil = pencils_[static_cast<std::size_t>(job.pencil)];
    return pencil.has ? &pencil.placement : nullptr;
  }
  if (job.lease == kNoRow) return nullptr;
  return &state_->leases[static_cast<std::size_t>(job.lease)].placement;
}

bool Draft::acceptable(const Job& job, const Placement& placement) const {
  if (job.state != JobState::kWaiting && job.state != JobState::kPlaced) return false;
  return (state_->books.can_take(placement) || state_->can_stay(job, placement)) &&
         right_sort(job, placement);
}

bool Draft::right_sort(const Job& job, const Placement& placement) const {
  std::int32_t gpus = 0;
  for (const Share& share : placement) {
    gpus += share.gpus();
    const GpuTypeId type = state_->cluster->topology().node(share.node).gpu_type;
    if (job.spec.gpu_type && *job.spec.gpu_type != type) return false;
    if (share.cpu_milli < job.spec.least.cpu_milli * share.gpus() ||
        share.mem_mib < job.spec.least.mem_mib * share.gpus()) {
      return false;
    }
  }
  if (job.spec.spread > 0 && placement.size() > static_cast<std::size_t>(job.spec.spread)) {
    return false;
  }
  return job.spec.may_have(gpus);
}

void Draft::take(const Placement& placement) {
  for (const Share& share : placement) state_->take(share);
}

void Draft::give(const Placement& placement) {
  for (const Share& share : placement) state_->give(share);
}

void Draft::remember(const Pencil& pencil) {
  if (undoable_) undo_.push_back({pencil.job, pencil.has, pencil.placement});
}

bool Draft::start(JobId id, Placement placement) {
  if (!state_->jobs.contains(id) || this->placement(id) != nullptr) return false;
  if (!acceptable(state_->jobs[id], placement)) return false;
  Pencil& mine = pencil(id);
  remember(mine);
  take(placement);
  mine.has = true;
  mine.placement = std::move(placement);
  return true;
}

bool Draft::stop(JobId id) {
  if (!state_->jobs.contains(id)) return false;
  const Placement* held = placement(id);
  if (held == nullptr) return false;
  MUSTER_CHECK(!undoable_ || state_->berth(id) == nullptr);
  if (!state_->leave_berth(id)) give(*held);
  if (!undoable_ && state_->jobs[id].pencil == kNoRow) {  // The common case, without copying it.
    state_->jobs[id].pencil = static_cast<std::int32_t>(pencils_.size());
    Pencil& fresh = pencils_.emplace_back();
    fresh.job = id;
    fresh.had = true;
    return true;
  }
  Pencil& mine = pencil(id);
  remember(mine);
  mine.has = false;
  return true;
}

bool Draft::replace(JobId id, Placement placement) {
  if (!state_->jobs.contains(id) || this->placement(id) == nullptr) return false;
  Pencil& mine = pencil(id);
  if (state_->berth(id) != nullptr) {  // What it has stays with the others.
    if (!acceptable(state_->jobs[id], placement)) return false;
    MUSTER_CHECK(!undoable_ && state_->leave_berth(id));
  } else {
    give(mine.placement);
    if (!acceptable(state_->jobs[id], placement)) {
      take(mine.placement);
      return false;
    }
    remember(mine);
  }
  take(placement);
  mine.placement = std::move(placement);
  return true;
}

bool Draft::join(JobId id, JobId host, Together manner) {
  MUSTER_CHECK(!undoable_);
  if (!state_->jobs.contains(id) || !state_->jobs.contains(host)) return false;
  const Placement* shared = placement(host);
  if (shared == nullptr || placement(id) != nullptr) return false;
  const Job& job = state_->jobs[id];
  if (job.state != JobState::kWaiting && job.state != JobState::kPlaced) return false;
  if (!right_sort(job, *shared)) return false;
  const Berth* berth = state_->berth(host);
  if (berth != nullptr && (manner == Together::kPacked || berth->manner == Together::kPacked)) {
    return false;
  }
  Placement mine = *shared;
  Pencil& guest = pencil(id);
  guest.has = true;
  guest.placement = std::move(mine);
  state_->enter_berth(id, host, manner);
  return true;
}

bool Draft::set_manner(JobId id, Together manner) {
  MUSTER_CHECK(!undoable_);
  if (!state_->jobs.contains(id) || state_->berth(id) == nullptr) return false;
  Berth& berth = state_->berths[static_cast<std::size_t>(state_->jobs[id].berth)];
  if (manner == Together::kPacked && berth.members.size() > 2) return false;
  if (std::exchange(berth.manner, manner) == manner) return true;
  state_->reseated.insert(state_->reseated.end(), berth.members.begin(), berth.members.end());
  return true;
}

Draft::Mark Draft::mark() {
  undoable_ = true;
  return undo_.size();
}

void Draft::rollback(Mark mark) {
  while (undo_.size() > mark) {
    Undo& last = undo_.back();
    Pencil& mine = pencil(last.job);
    if (mine.has) give(mine.placement);
    mine.has = last.has;
    mine.placement = std::move(last.placement);
    if (mine.has) take(mine.placement);
    undo_.pop_back();
  }
}

void Draft::forget_pointless_stops() {
  for (Pencil& mine : pencils_) {
    if (!mine.had || mine.has) continue;
    const Job& job = state_->jobs[mine.job];
    const Placement& held = state_->leases[static_cast<std::size_t>(job.lease)].placement;
    if (!state_->can_stay(job, held)) continue;
    take(held);
    mine.has = true;
    mine.placement = held;
  }
}

}  // namespace muster
