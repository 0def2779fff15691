// Records the decisions of a step and repeats recorded decisions. Recovery repeats the journal of
// an earlier version.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/types/check.h"
#include "engine/core/engine.h"

namespace muster {

void Engine::record_blocked() {
  blocked_before_.clear();
  if (state_.closed_count == 0 && state_.taken.empty()) return;
  for (std::size_t i = 0; i < state_.blocked.size(); ++i) {
    blocked_before_.push_back(state_.blocked[NodeId(i)].slots);
  }
}

void Engine::record_plan(const Draft& draft) {
  if (!options_.record_plans) return;
  decided_.plan.emplace();
  MUSTER_CHECK(state_.sharing_groups.empty());  // A record cannot express GPU sharing.
  for (const Draft::Drafted& mine : draft.drafted_) {
    if (!mine.has && !mine.had) continue;
    const std::int32_t row = state_.jobs[mine.job].lease;
    const bool same = mine.has && mine.had &&
                      state_.leases[static_cast<std::size_t>(row)].placement == mine.placement;
    if (same) continue;
    decided_.plan->push_back({mine.job, mine.has ? mine.placement : Placement()});
  }
  for (std::size_t i = 0; i < blocked_before_.size(); ++i) {
    const SlotMask now = state_.blocked[NodeId(i)].slots;
    if (now != blocked_before_[i]) decided_.blocked.push_back({NodeId(i), now});
  }
}

Result<std::span<const Action>> Engine::repeat(Instant now, std::span<const Event> events,
                                               const Decisions& given) {
  given_ = &given;
  misfit_.reset();
  begin_step(now, events);
  if (given.plan) {
    repeat_plan(given);
  } else if (!given.blocked.empty()) {
    refuse_given("it blocks GPUs without a plan");
  }
  end_step();
  given_ = nullptr;
  if (decided_.rejections.size() != given.rejections.size()) {
    refuse_given("it rejects a job that was not submitted");
  }
  if (decided_.reactions.size() != given.reactions.size() ||
      decided_.quarantines.size() != given.quarantines.size()) {
    refuse_given("it reacts to a failure that did not happen");
  }
  if (misfit_) return *misfit_;
  return std::span<const Action>(actions_);
}

void Engine::refuse_given(std::string why) {
  if (!misfit_) misfit_ = Error{std::move(why), ErrorCode::kCorrupt};
}

// Whether the job may get the placement while all changed leases, and all GPUs whose blocking
// changes, are free. A lease may take as much CPU and memory as before from a node in debt.
bool Engine::can_repeat(const PlannedChange& change) const {
  const Job& job = state_.jobs[change.job];
  if (job.state != JobState::kWaiting && job.state != JobState::kPlaced) return false;
  const auto is_held = [&](const Share& share) {
    if (job.lease == kNoRow) return false;
    const Placement& held = state_.leases[static_cast<std::size_t>(job.lease)].placement;
    return std::any_of(held.begin(), held.end(), [&](const Share& mine) {
      return mine.node == share.node && (share.slots & ~mine.slots) == 0;
    });
  };
  if (!state_.ledger.can_return(change.placement)) return false;
  return std::all_of(change.placement.begin(), change.placement.end(), [&](const Share& share) {
    return state_.closed[share.node] == 0 || is_held(share);
  });
}

// All leases that change are released before any job gets a new placement, because two jobs may
// have changed places. Jobs enter the draft in the original order, so the actions have it too.
void Engine::repeat_plan(const Decisions& given) {
  Draft draft = open_plan();
  for (const PlannedChange& each : *given.plan) {
    const bool known = state_.jobs.contains(each.job);
    if (!known || state_.jobs[each.job].drafted != kNoRow) {
      refuse_given(fmt::format("the plan names row {}, which {}", each.job.index(),
                               known ? "it has named before" : "does not exist"));
      continue;
    }
    Draft::Drafted& mine = draft.drafted(each.job);
    for (const Share& share : mine.placement) state_.ledger.give(share);
    mine.has = false;
  }
  for (const BlockedGpus& each : given.blocked) {
    if (state_.closed.contains(each.node)) unblock(each.node);
  }
  for (const PlannedChange& each : *given.plan) {
    if (!state_.jobs.contains(each.job)) continue;
    Draft::Drafted& mine = draft.drafted(each.job);
    const bool stops = each.placement.empty();
    const bool fits =
        !mine.has && can_repeat(each) && draft.right_sort(state_.jobs[each.job], each.placement);
    if (stops ? !mine.had || mine.has : !fits) {
      refuse_given(fmt::format("the plan {} row {}, which is not possible",
                               stops ? "stops" : "places", each.job.index()));
      continue;
    }
    for (const Share& share : each.placement) state_.ledger.take(share);
    mine.has = !stops;
    mine.placement = each.placement;
  }
  repeat_blocked(given.blocked);
  close_plan(draft);
}

void Engine::repeat_blocked(const std::vector<BlockedGpus>& blocked) {
  for (const BlockedGpus& each : blocked) {
    const bool is_ours = state_.closed.contains(each.node) &&
                         (state_.closed[each.node] != 0 || state_.taken.contains(each.node)) &&
                         state_.blocked[each.node].slots == 0 &&
                         (each.slots & ~state_.ledger.free_slots(each.node)) == 0;
    if (!is_ours) {
      refuse_given(
          fmt::format("the plan blocks GPUs of node {}, which is not possible", each.node.index()));
      continue;
    }
    if (each.slots == 0) continue;
    Share share;
    share.node = each.node;
    share.slots = each.slots;
    state_.ledger.take(share);
    state_.blocked[each.node].slots = each.slots;
  }
  block_closed();
}

std::optional<std::string> Engine::given_rejection(JobId job) const {
  for (const Rejection& each : given_->rejections) {
    if (each.job == job) return each.why;
  }
  return std::nullopt;
}

const FailureDecision* Engine::given_reaction(const AttemptFailed& event) {
  for (const FailureDecision& each : given_->reactions) {
    const auto is_here = [this](NodeId node) { return state_.closed.contains(node); };
    if (each.job != event.job || each.epoch != event.epoch) continue;
    if (std::all_of(each.avoided.begin(), each.avoided.end(), is_here)) return &each;
  }
  refuse_given(fmt::format("it has no valid reaction to the failure of row {}", event.job.index()));
  return nullptr;
}

void Engine::repeat_quarantine(const AttemptFailed& event) {
  for (const Quarantine& each : given_->quarantines) {
    if (each.job != event.job || !state_.closed.contains(each.node)) continue;
    const Placement& held = lease(event.job).placement;
    const bool was_there = std::any_of(held.begin(), held.end(),
                                       [&](const Share& share) { return share.node == each.node; });
    if (was_there && state_.closed[each.node] == 0) quarantine(each, Instant::never());
  }
}

void Engine::repeat_quarantine(const NodeEvidence& event) {
  for (const Quarantine& each : given_->quarantines) {
    if (each.job || each.node != event.node || state_.closed[each.node] != 0) continue;
    quarantine(each, Instant::never());
  }
}

}  // namespace muster
