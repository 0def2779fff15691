#pragma once

// Waiting jobs of a ComposedPlanner, grouped by demand. Jobs of one class have equal GPU count and
// type, CPU, memory, spread and avoided nodes and, for mechanisms that use it, profile. They all
// fit or all do not fit. So a plan considers at most one job per class in addition to those it
// starts. Its cost does not depend on the length of the queue.

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
  TenantId tenant;          // Set only with tenants.
  UserId user;              // Set only if users of a tenant take turns (Tenancy::by_user()).
  Resources least;          // As JobSpec::least,
  std::int32_t spread = 0;  // and JobSpec::spread.
  std::vector<NodeId> avoid;
  std::optional<std::string> refusal;  // Why no job of this class can ever run.
  RankedQueue queue;
  ArrivalIndex ages;       // Filled only for policies that reserve.
  RankedQueue::Walk walk;  // Valid only within one plan.
  bool out = false;        // No more jobs of this class can start in this plan.
  bool no_place = false;   // A job of this class found no place in this plan.
  WaitCauseTimer clock;
  bool is_particular() const { return spread > 0 || least != Resources(); }
  // Rare classes are unlimited in number, so their rows are reused when no job waits in them.
  bool is_rare() const { return !avoid.empty() || is_particular(); }
};

// The position of one job in the queues.
struct QueueSeat {
  std::uint32_t demand_class = 0;
  RankedQueue::Slot slot = 0;
  bool taken = false;
  bool known = false;  // It has waited before.
  WaitSplit waited;    // Before this wait; if `taken`, see WaitCauseTimer.
};

}  // namespace muster
