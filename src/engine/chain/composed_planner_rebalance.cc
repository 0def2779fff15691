// Plans that set the resources of all jobs again: adaptive mechanisms.

#include <algorithm>
#include <utility>

#include "engine/chain/composed_planner.h"
#include "engine/core/guaranteed_ledger.h"

namespace muster {

void ComposedPlanner::rebalance(const View& view, Draft& draft) {
  asks_.clear();
  ResourceLedger ledger = draft.ledger();
  // A stopped job may come back (bring_back), so no other job may move to its GPUs.
  const bool some_stopped = std::any_of(view.placed().begin(), view.placed().end(),
                                        [&](JobId job) { return draft.placement(job) == nullptr; });
  for (const JobId job : view.placed()) {
    const Placement* held = draft.placement(job);
    if (held == nullptr) continue;  // Stopped in this plan.
    for (const Share& share : *held) ledger.give(share);
    asks_.push_back(ask_for(view, job));
    asks_.back().held = held;
    asks_.back().must_stay = some_stopped || is_protected(view, job);
  }
  for (const JobId job : starts_) {
    asks_.push_back(ask_for(view, job));
    asks_.back().held = draft.placement(job);
    if (asks_.back().held == nullptr) continue;
    for (const Share& share : *asks_.back().held) ledger.give(share);
  }
  for (const JobId job : returning_) {
    asks_.push_back(ask_for(view, job));
    asks_.back().held = &view.placement(job);
    asks_.back().must_stay = some_stopped || is_protected(view, job);
    for (Share share : view.placement(job)) {
      share.slots &= view.blocked(share.node);
      share.cpu_milli = share.mem_mib = share.storage_kbps = 0;
      if (share.slots != 0) ledger.give(share);
    }
  }
  std::sort(asks_.begin(), asks_.end(), [](const Ask& a, const Ask& b) { return a.job < b.job; });
  for (Ask& ask : asks_) ask.rank = rank_at(rank_of(view, ask.job), view.now());
  mechanism_->rebalance(*cluster_, *placer_, ledger, asks_);
  set_changed_ = false;
  write(draft, view);
}

// A job may have been stopped for another job that then found no place. Its GPUs are then free, but
// perhaps not its CPU and memory. Such a job stays in its place, and all resources are set again.
void ComposedPlanner::bring_back(const View& view, Draft& draft) {
  std::erase_if(starts_, [&](JobId job) { return draft.placement(job) == nullptr; });
  std::optional<GuaranteedLedger> least;
  if (particular_) least.emplace(*cluster_, view, draft);
  for (const JobId job : view.placed()) {
    const auto free = [&](const Share& share) {
      const SlotMask left = draft.ledger().free_slots(share.node) | view.blocked(share.node);
      return (left & share.slots) == share.slots;
    };
    const Placement& held = view.placement(job);
    if (draft.placement(job) != nullptr || !std::all_of(held.begin(), held.end(), free)) continue;
    if (least && !least->keep(view.spec(job), held)) continue;  // Stopped to free its memory.
    returning_.push_back(job);
  }
  if (!returning_.empty()) rebalance(view, draft);
}

// Drafts the result of the mechanism. New jobs without a place wait again.
void ComposedPlanner::write(Draft& draft, const View& view) {
  draft_asks(draft, asks_);
  for (const Ask& ask : asks_) {
    if (draft.placement(ask.job) != nullptr || view.is_placed(ask.job)) continue;
    enqueue(view, ask.job);
    classes_[seats_[ask.job].demand_class].no_place = true;
  }
}

}  // namespace muster
