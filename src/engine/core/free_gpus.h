#pragma once

// The number of free GPUs that users see. A GPU is free if no job holds it or is promised it, its
// node accepts leases, no external job uses it, and no plan keeps it for a waiting job.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/types/id.h"
#include "engine/core/engine_view.h"

namespace muster {

struct FreeGpus {
  std::int32_t all = 0;  // GPUs of the type in any state.
  std::int32_t free = 0;
  std::int32_t kept = 0;             // GPUs that no job holds, but a plan keeps
  JobId kept_for;                    // for this waiting job. Valid if kept > 0.
  std::int32_t most_on_one = 0;      // GPUs that no job holds on one node, whether kept or not,
  NodeId best;                       // and that node. Valid if most_on_one > 0.
  std::int32_t others = 0;           // GPUs that external jobs use on schedulable nodes,
  std::int32_t others_nodes = 0;     // and the number of these nodes.
  std::int32_t closed = 0;           // GPUs that no job holds on unschedulable nodes,
  std::vector<NodeId> closed_nodes;  // and all these nodes.

  std::int32_t unheld() const { return free + kept; }
  // Returns the counts from the view of `job`: GPUs that are kept for it count as free.
  FreeGpus seen_by(JobId job) const;
};

// Counts the GPUs of `type`, or of all types if it is empty. O(nodes).
FreeGpus count_free_gpus(const EngineView& engine, std::optional<GpuTypeId> type);

}  // namespace muster
