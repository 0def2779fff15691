#pragma once

// The one count of free GPUs that users see. A GPU is free if no job holds it or is promised it,
// its node is open, no external job uses it, and no plan keeps it for a waiting job.

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
  std::int32_t others = 0;           // GPUs that external jobs use on open nodes,
  std::int32_t others_nodes = 0;     // and the number of these nodes.
  std::int32_t closed = 0;           // GPUs that no job holds on closed nodes,
  std::vector<NodeId> closed_nodes;  // and all closed nodes.

  std::int32_t unheld() const { return free + kept; }
  // The GPUs that are kept for `job` are free for it.
  FreeGpus seen_by(JobId job) const;
};

// No type: the GPUs of all types. Costs O(nodes).
FreeGpus count_free_gpus(const EngineView& engine, std::optional<GpuTypeId> type);

}  // namespace muster
