#pragma once

// The past of the cluster for the dashboard: which job held which GPU when, and the GPUs of each
// tenant. The manager thread copies its part into a PastWindow. A worker reads the rest from the
// tables with its own connection, because a day of a busy cluster has many rows.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "api/port/service.h"
#include "api/port/timeline.h"
#include "api/port/usage.h"
#include "base/types/result.h"
#include "engine/roster/roster.h"

namespace muster {

struct PastWindow {
  std::string database;
  Caller caller;
  std::int64_t born_unix_us = 0;
  TimeWindow window;  // All times here are of the manager's clock.
  TimeWindow whole;   // The time that has rows; ends now.
  std::vector<TimelineNode> nodes;
  std::int64_t gpus = 0;
  std::vector<UsageTenant> tenants;  // Current tenants, or only the default tenant.
  std::vector<UsageHolder> holders;  // Current leases above their tenant's quota.
  // Limits. Ended leases: what a browser can draw with one GPU each. Total GPUs of all leases: the
  // number of bars that fit in memory.
  std::size_t most_leases = kMaxTimelineBars;
  std::int64_t most_gpus = 2'000'000;
};

// Sets everything except the database and the times. Includes the names of jobs that the caller may
// read (api/port/permissions.h).
PastWindow look_back(const Roster& roster, const Caller& caller);

// Both omit the id, name and user of jobs that the caller may not see.
// Errors: kUnavailable if the tables cannot be read.
Result<Answer> timeline_answer(const PastWindow& look);
Result<Answer> usage_answer(const PastWindow& look, std::size_t points);

}  // namespace muster
