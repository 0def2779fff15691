#pragma once

// The manager's own past for the dashboard: who held which GPU when, and how much each tenant had.
// What only the manager's thread knows it puts into a LookBack; the rest is read from the tables by
// another thread, with a connection of its own, since a day of a busy cluster is many rows.

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

struct LookBack {
  std::string database;
  Caller caller;
  std::int64_t born_unix_us = 0;
  TimeWindow window;  // By the manager's clock, as all times here.
  TimeWindow whole;   // What rows there are of; ends now.
  std::vector<TimelineServer> servers;
  std::int64_t gpus = 0;
  std::vector<UsageTenant> tenants;  // As they are now; one, if nobody has a quota.
  std::vector<UsageHolder> holders;  // Likewise.
  // Of leases that are over no more are looked at: as many as a browser could draw, on one GPU
  // each. Of GPUs in all leases: as many bars as there is memory for.
  std::size_t most_leases = kMostTimelineBars;
  std::int64_t most_gpus = 2'000'000;
};

// All but database and times. Names of others' jobs only for those who may see them.
LookBack look_back(const Roster& roster, const Caller& caller);

// Other people's jobs have neither id, name nor user, unless the caller is an operator.
// Errors: kUnavailable if the tables cannot be read.
Result<Answer> timeline_answer(const LookBack& look);
Result<Answer> usage_answer(const LookBack& look, std::size_t points);

}  // namespace muster
