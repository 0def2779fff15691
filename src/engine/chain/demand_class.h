#pragma once

// Waiting jobs of a Chain, grouped by what they ask for. Jobs of one class (GPU count, GPU type,
// CPU, memory and spread asked for, servers to avoid and, for mechanisms that look at it, profile)
// fit or do not fit alike, so a plan touches at most one job per class beyond those it starts. Its
// cost does not grow with the length of the queue.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/types/id.h"
#include "engine/chain/arrival_index.h"
#include "engine/chain/ranked_queue.h"
#include "engine/core/waiting.h"
#include "engine/model/resources.h"

namespace muster {

struct DemandClass {
  std::int32_t gpus;
  std::optional<GpuTypeId> gpu_type;
  ProfileId profile;
  TenantId tenant;          // With tenants only.
  UserId user;              // Where users take turns only.
  Resources least;          // As JobSpec::least,
  std::int32_t spread = 0;  // and spread.
  std::vector<NodeId> avoid;
  std::optional<std::string> refusal;  // Why no job of this shape can ever run.
  RankedQueue queue;
  ArrivalIndex ages;       // Kept only for policies that reserve.
  RankedQueue::Walk walk;  // Used within one plan.
  bool out = false;        // Nothing of this shape fits any more in this plan.
  bool no_place = false;   // One was tried in this plan, and no place was found for it.
  CauseClock clock;
  bool is_particular() const { return spread > 0 || least != Resources(); }
  // There is no end of such shapes, so they are used again when nobody waits in them.
  bool is_rare() const { return !avoid.empty() || is_particular(); }
};

// The place of one job among the waiting jobs.
struct QueueSeat {
  std::uint32_t shape = 0;
  RankedQueue::Slot slot = 0;
  bool taken = false;
  bool known = false;  // It has been waiting before.
  WaitSplit waited;    // Of earlier seats; while taken, see CauseClock.
};

}  // namespace muster
