#pragma once

// Who held how much of the cluster, by tenant and over time: what was used, borrowed and lent, and
// how fair that was. A reader of the past fills a UsageFacts in; the dashboard draws the JSON.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/port/timeline.h"
#include "base/types/time.h"

namespace muster {

struct UsageTenant {
  std::string name;
  std::optional<std::uint32_t> parent;   // In UsageFacts::tenants, and before this one or after.
  std::int64_t quota = 0;                // With that of its children. All 0: nobody has one.
  std::int64_t running = 0, queued = 0;  // Jobs, now; its own and those below.
  std::int64_t used_now = 0;             // GPUs, its own.
  bool quota_known = true;               // False: what of its use was borrowed nobody knows.
};

// GPUs that a job of the tenant held.
struct TenantHold {
  std::uint32_t tenant = 0;
  Instant begin, end;
  std::int64_t gpus = 0;
};

// From a job's submission to its end.
struct TenantWork {
  std::uint32_t tenant = 0;
  Instant begin, end;
};

// A job with GPUs beyond its tenant's quota, while jobs of another wait that has some left.
struct UsageHolder {
  std::string tenant;
  std::uint64_t job = 0;
  std::string user, name;  // Empty: not to be told.
  std::int64_t gpus = 0;
  Instant since;
  std::string of;
};

struct UsageFacts {
  TimeWindow window;
  std::size_t points = 1;  // Steps; at least one, and no more than microseconds.
  std::int64_t gpus = 0;
  std::vector<UsageTenant> tenants;
  std::vector<TenantHold> holds;
  std::vector<TenantWork> work;
  std::vector<UsageHolder> holders;
  std::string missing;  // What is not in it; empty: nothing.
};

// On one line. What is lent is what stood idle of the quotas, as far as others went beyond theirs
// and beyond the GPUs that are in nobody's quota, which are borrowed first.
// Fairness is Jain's index of used by quota (without quotas: of used) among tenants without
// children that had work then; null where nobody held anything.
std::string usage_json(const UsageFacts& facts);

}  // namespace muster
