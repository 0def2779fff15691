#pragma once

// Order and wait causes of demand classes (waiting jobs with equal tenant, size and GPU type).
// Shared by the planners that group waiting jobs this way.

#include <cstdint>
#include <optional>

#include "base/types/id.h"
#include "engine/chain/tenancy.h"
#include "engine/core/waiting.h"

namespace muster {

// Sort key of a demand class.
struct Turn {
  bool own = false;  // The job is within its tenant's entitlement.
  TenantId tenant;
  JobId oldest;
};

// True if `a` precedes `b`: entitled jobs before borrowers, then by tenant order, then the oldest
// job.
inline bool is_sooner(const std::optional<Tenancy>& tenancy, const Turn& a, const Turn& b) {
  if (a.own != b.own) return a.own;
  const int turn = tenancy ? tenancy->compare_turns(a.tenant, UserId(), b.tenant, UserId()) : 0;
  return turn != 0 ? turn < 0 : a.oldest < b.oldest;
}

// Returns why jobs with `gpus` GPUs still wait after a plan that left `free` GPUs of their type
// idle.
inline WaitCause cause_of_waiting(bool own, std::int32_t gpus, std::int32_t free) {
  if (!own) return WaitCause::kFairShare;
  return free >= gpus ? WaitCause::kFragmentation : WaitCause::kOrder;
}

}  // namespace muster
