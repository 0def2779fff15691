#pragma once

// Dashboard data of a loaded run: leases over time, and the usage of each tenant.

#include <cstddef>
#include <string>
#include <vector>

#include "api/port/timeline.h"
#include "api/port/usage.h"
#include "engine/model/tenants.h"
#include "study/compare/loaded_runs.h"

namespace muster {

// The load comes from the run, or from the leases if the run has none.
LeaseTimeline timeline_of(const RunFiles& run);

// Returns the steps in the window. Without `tenants` there are no quotas. Current values are empty,
// and the caller sets the number of GPUs.
UsageFacts usage_of(const RunFiles& run, const TenantTree* tenants, const TimeWindow& window,
                    std::size_t points);

}  // namespace muster
