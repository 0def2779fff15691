#pragma once

// GPUs used, borrowed and lent per tenant over time, and their fairness, as JSON for the dashboard.
// A reader of past data (see timeline.h) fills in a UsageFacts.

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
  std::optional<std::uint32_t> parent;   // Index in UsageFacts::tenants, in any order.
  std::int64_t quota = 0;                // GPUs, including children. All 0: no quotas.
  std::int64_t running = 0, queued = 0;  // Jobs now, including children.
  std::int64_t used_now = 0;             // GPUs now, without children.
  bool quota_known = true;               // False: borrowed GPUs are unknown, reported as 0.
};

// GPUs that a job of the tenant held during [begin, end).
struct TenantHold {
  std::uint32_t tenant = 0;
  Instant begin, end;
  std::int64_t gpus = 0;
};

// Interval from a job's submission to its end.
struct TenantWork {
  std::uint32_t tenant = 0;
  Instant begin, end;
};

// A job that holds GPUs beyond its tenant's quota while a tenant with unused quota has waiting
// jobs.
struct UsageHolder {
  std::string tenant;
  std::uint64_t job = 0;
  std::string user, name;  // Empty: hidden from the caller.
  std::int64_t gpus = 0;
  Instant since;
  std::string of;  // The tenant that waits.
};

struct UsageFacts {
  TimeWindow window;
  std::size_t points = 1;  // Time steps: from 1 to the microseconds of the window.
  std::int64_t gpus = 0;
  std::vector<UsageTenant> tenants;
  std::vector<TenantHold> holds;
  std::vector<TenantWork> work;
  std::vector<UsageHolder> holders;
  std::string missing;  // Describes missing data; empty if complete.
};

// Returns the facts as one line of JSON. A tenant borrows the GPUs that it uses beyond its quota.
// GPUs outside all quotas are borrowed first; the rest is lent by tenants with unused quota.
// Fairness is Jain's index of used/quota (or of used, without quotas) over the leaf tenants that
// had jobs in the step; null if none of them used GPUs.
std::string usage_json(const UsageFacts& facts);

}  // namespace muster
