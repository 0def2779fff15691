#pragma once

// What the dashboard shows of a past: who held which GPU when, and how much of it each tenant had.

#include <cstddef>
#include <string>
#include <vector>

#include "api/port/timeline.h"
#include "api/port/usage.h"
#include "engine/model/tenants.h"
#include "study/compare/run_files.h"

namespace muster {

// Its load is that of the run, or of the leases where the run tells none.
LeaseTimeline timeline_of(const RunFiles& run);

// Steps of the window. Without a tree nobody has a quota. Nothing is now, and how many GPUs there
// are is for the caller to fill in.
UsageFacts usage_of(const RunFiles& run, const TenantTree* tenants, const TimeWindow& window,
                    std::size_t points);

}  // namespace muster
