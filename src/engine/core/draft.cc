#include "engine/core/draft.h"

#include <utility>

#include "base/types/check.h"

namespace muster {

Draft::Drafted& Draft::drafted(JobId id) {
  Job& job = state_->jobs[id];
  if (job.drafted == kNoRow) {
    job.drafted = static_cast<std::int32_t>(drafted_.size());
    Drafted& fresh = drafted_.emplace_back();
    fresh.job = id;
    if (job.lease != kNoRow) {
      fresh.had = fresh.has = true;
      fresh.placement = state_->leases[static_cast<std::size_t>(job.lease)].placement;
    }
  }
  return drafted_[static_cast<std::size_t>(job.drafted)];
}

const Placement* Draft::placement(JobId id) const {
  const Job& job = state_->jobs[id];
  if (job.drafted != kNoRow) {
    const Drafted& drafted = drafted_[static_cast<std::size_t>(job.drafted)];
    return drafted.has ? &drafted.placement : nullptr;
  }
  if (job.lease == kNoRow) return nullptr;
  return &state_->leases[static_cast<std::size_t>(job.lease)].placement;
}

bool Draft::acceptable(const Job& job, const Placement& placement) const {
  if (job.state != JobState::kWaiting && job.state != JobState::kPlaced) return false;
  return (state_->ledger.can_take(placement) || state_->can_stay(job, placement)) &&
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

void Draft::remember(const Drafted& drafted) {
  if (undoable_) undo_.push_back({drafted.job, drafted.has, drafted.placement});
}

bool Draft::start(JobId id, Placement placement) {
  if (!state_->jobs.contains(id) || this->placement(id) != nullptr) return false;
  if (!acceptable(state_->jobs[id], placement)) return false;
  Drafted& mine = drafted(id);
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
  MUSTER_CHECK(!undoable_ || state_->sharing_group(id) == nullptr);
  if (!state_->leave_sharing_group(id)) give(*held);
  // The common case, without a copy of the placement.
  if (!undoable_ && state_->jobs[id].drafted == kNoRow) {
    state_->jobs[id].drafted = static_cast<std::int32_t>(drafted_.size());
    Drafted& fresh = drafted_.emplace_back();
    fresh.job = id;
    fresh.had = true;
    return true;
  }
  Drafted& mine = drafted(id);
  remember(mine);
  mine.has = false;
  return true;
}

bool Draft::replace(JobId id, Placement placement) {
  if (!state_->jobs.contains(id) || this->placement(id) == nullptr) return false;
  Drafted& mine = drafted(id);
  if (state_->sharing_group(id) != nullptr) {  // The group keeps its GPUs.
    if (!acceptable(state_->jobs[id], placement)) return false;
    MUSTER_CHECK(!undoable_ && state_->leave_sharing_group(id));
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

bool Draft::join(JobId id, JobId host, SharingMode manner) {
  MUSTER_CHECK(!undoable_);
  if (!state_->jobs.contains(id) || !state_->jobs.contains(host)) return false;
  const Placement* shared = placement(host);
  if (shared == nullptr || placement(id) != nullptr) return false;
  const Job& job = state_->jobs[id];
  if (job.state != JobState::kWaiting && job.state != JobState::kPlaced) return false;
  if (!right_sort(job, *shared)) return false;
  const GpuSharingGroup* sharing_group = state_->sharing_group(host);
  if (sharing_group != nullptr &&
      (manner == SharingMode::kPacked || sharing_group->manner == SharingMode::kPacked)) {
    return false;
  }
  Placement mine = *shared;
  Drafted& guest = drafted(id);
  guest.has = true;
  guest.placement = std::move(mine);
  state_->enter_sharing_group(id, host, manner);
  return true;
}

bool Draft::set_manner(JobId id, SharingMode manner) {
  MUSTER_CHECK(!undoable_);
  if (!state_->jobs.contains(id) || state_->sharing_group(id) == nullptr) return false;
  GpuSharingGroup& sharing_group =
      state_->sharing_groups[static_cast<std::size_t>(state_->jobs[id].sharing_group)];
  if (manner == SharingMode::kPacked && sharing_group.members.size() > 2) return false;
  if (std::exchange(sharing_group.manner, manner) == manner) return true;
  state_->reseated.insert(state_->reseated.end(), sharing_group.members.begin(),
                          sharing_group.members.end());
  return true;
}

Draft::Mark Draft::mark() {
  undoable_ = true;
  return undo_.size();
}

void Draft::rollback(Mark mark) {
  while (undo_.size() > mark) {
    Undo& last = undo_.back();
    Drafted& mine = drafted(last.job);
    if (mine.has) give(mine.placement);
    mine.has = last.has;
    mine.placement = std::move(last.placement);
    if (mine.has) take(mine.placement);
    undo_.pop_back();
  }
}

void Draft::forget_pointless_stops() {
  for (Drafted& mine : drafted_) {
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
