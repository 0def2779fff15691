// Plans that set the resources of all jobs again: adaptive mechanisms, and the full rebuild.

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
  mechanism_->rebalance(*cluster_, *placer_, ledger, asks_, Fidelity::kOurs);
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

// Synergy's simulator divides the remaining time by a speedup: that of the last round if the job
// ran in it, otherwise that of its best-case demand.
Rank ComposedPlanner::rank_as_synergy(const View& view, JobId job) {
  JobFacts facts = view.facts(job);
  double speed = 1;
  if (view.is_placed(job)) {
    speed = view.speed(job);
  } else {
    const ResourceLedger empty(cluster_->topology(), pooling());
    Ask ask = ask_for(view, job);
    mechanism_->place(*cluster_, *placer_, empty, ask);
    if (!ask.given.empty()) speed = cluster_->speed(*ask.spec, ask.given);
  }
  const double left = static_cast<double>(facts.remaining().us()) / std::max(speed, 1e-6);
  const double longest = static_cast<double>(kLongestDuration.us());
  facts.estimate =
      facts.work_done + Duration::micros(static_cast<std::int64_t>(std::min(left, longest)));
  return policy_->rank(facts);
}

void ComposedPlanner::rebuild(const View& view, Draft& draft) {
  std::vector<RankedJob> all;
  for (const JobId job : view.placed()) all.push_back({job, rank_as_synergy(view, job)});
  for (DemandClass& demand_class : classes_) {
    demand_class.queue.advance(view.now());
    for (demand_class.walk.begin(demand_class.queue, view.now()); !demand_class.walk.done();
         demand_class.walk.next()) {
      const JobId job = demand_class.walk.entry().job;
      all.push_back({job, rank_as_synergy(view, job)});
    }
  }
  std::sort(all.begin(), all.end(),
            [&](const RankedJob& a, const RankedJob& b) { return goes_before(a, b, view.now()); });
  running_.assign(all);
  asks_.clear();
  for (const RankedJob& entry : all) {
    asks_.push_back(ask_for(view, entry.job));
    if (view.is_placed(entry.job)) continue;
    starts_.push_back(entry.job);
    unseat(entry.job, view.now());
    if (traits_.remembers) policy_->started(view.facts(entry.job));
  }
  ResourceLedger empty(cluster_->topology(), pooling());
  mechanism_->rebalance(*cluster_, *placer_, empty, asks_, Fidelity::kPublished);
  write(draft, view);
}

// Drafts the result of the mechanism. Releases all changed placements before it takes the new ones.
void ComposedPlanner::write(Draft& draft, const View& view) {
  for (const Ask& ask : asks_) {
    const Placement* held = draft.placement(ask.job);
    if (held != nullptr && *held != ask.given) draft.stop(ask.job);
  }
  for (Ask& ask : asks_) {
    if (draft.placement(ask.job) != nullptr) continue;
    const bool started = !ask.given.empty() && draft.start(ask.job, std::move(ask.given));
    if (started || view.is_placed(ask.job)) continue;
    enqueue(view, ask.job);
    classes_[seats_[ask.job].demand_class].no_place = true;
  }
}

}  // namespace muster
