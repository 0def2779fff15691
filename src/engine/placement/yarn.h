#pragma once

// Strict locality, as in Tiresias' "yarn" scheme. A gang that fits on one node must be on one node,
// the first with enough free resources. A larger gang needs whole idle nodes of one rack, plus one
// node there for the rest. Otherwise it waits.

#include "engine/core/placer.h"

namespace muster {

class Yarn final : public Placer {
 public:
  bool place(const Cluster& cluster, const ResourceLedger& ledger, const Demand& demand,
             Placement& out) const override;
};

}  // namespace muster
