#pragma once

// Converts a manager's history to the input of src/study/analyze.

#include "study/past/live_history.h"
#include "workload/history/history.h"

namespace muster {

// Contains each job, with its leases as attempts, and trials only if they failed. GPU utilization,
// causes of waiting and lost work are unknown.
History as_history(const LiveHistory& live);

}  // namespace muster
