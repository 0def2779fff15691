#pragma once

// Uses as few nodes as possible, with the tightest fit. A gang that fits on one node goes to the
// fitting node with the fewest free GPUs. A larger gang takes the nodes with the most usable GPUs
// first and puts the remainder where it fits most tightly.

#include "engine/core/placer.h"

namespace muster {

class Consolidate final : public Placer {
 public:
  bool place(const Cluster& cluster, const ResourceLedger& ledger, const Demand& demand,
             Placement& out) const override;
};

}  // namespace muster
