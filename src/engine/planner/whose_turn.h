#pragma once

// Whose turn it is among sorts of waiting jobs, and what they wait for: what schedulers that keep
// such sorts (one tenant, size and GPU type each) have in common.

#include <cstdint>
#include <optional>

#include "base/types/id.h"
#include "engine/chain/tenancy.h"
#include "engine/core/waiting.h"

namespace muster {

struct Turn {
  bool own = false;  // What the job asks for is within its tenant's part.
  TenantId tenant;
  JobId oldest;
};

// What is a right before what is a favour, then as tenants take turns, then the oldest.
inline bool is_sooner(const std::optional<Tenancy>& tenancy, const Turn& a, const Turn& b) {
  if (a.own != b.own) return a.own;
  const int turn = tenancy ? tenancy->compare_turns(a.tenant, UserId(), b.tenant, UserId()) : 0;
  return turn != 0 ? turn < 0 : a.oldest < b.oldest;
}

// Of jobs that the last plan did not start although so many GPUs of their type are free after it.
inline WaitCause cause_of_waiting(bool own, std::int32_t gpus, std::int32_t free) {
  if (!own) return WaitCause::kFairShare;
  return free >= gpus ? WaitCause::kFragmentation : WaitCause::kOrder;
}

}  // namespace muster
