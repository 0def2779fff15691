#pragma once

// Optimus' placement of a gang: equal numbers of GPUs on as few nodes as possible, which is optimal
// (engine/fit/spread.h; parameter servers run with the workers, so only workers count). If equal
// numbers are impossible, it takes the nodes with the most free GPUs first.

#include <cstdint>

#include "engine/core/cluster.h"
#include "engine/core/resource_ledger.h"

namespace muster {

// Fills `out` with `gpus` GPUs of one type and the proportional share of other resources. Uses free
// GPUs and the job's current GPUs. Returns false and clears `out` if there are too few. A job
// stays on its nodes and GPUs unless other nodes would reduce their number; it restarts in any
// case.
bool place_evenly(const Cluster& cluster, const ResourceLedger& ledger, std::int32_t gpus,
                  GpuTypeId type, const Placement& held, Placement& out);

}  // namespace muster
