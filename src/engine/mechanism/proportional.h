#pragma once

// Each job gets CPU and memory in proportion to its GPUs on the node. Most clusters do this; it is
// the baseline for all gains.

#include "engine/core/mechanism.h"

namespace muster {

class Proportional final : public Mechanism {
 public:
  void place(const Cluster& cluster, const Placer& placer, const ResourceLedger& ledger,
             Ask& ask) const override;
};

}  // namespace muster
