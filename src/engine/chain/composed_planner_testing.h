#pragma once

// For tests of the ComposedPlanner: a minimal mechanism and a minimal placement.

#include "engine/core/mechanism.h"
#include "engine/core/placer.h"

namespace muster {

class FairShare final : public Mechanism {
 public:
  void place(const Cluster& cluster, const Placer& placer, const ResourceLedger& ledger,
             Ask& ask) const override {
    placer.place(cluster, ledger, fair_demand(ask), ask.given);
  }
};

// Uses the first node that has room for the whole gang.
class OneNode final : public Placer {
 public:
  bool place(const Cluster& cluster, const ResourceLedger& ledger, const Demand& demand,
             Placement& out) const override {
    out.clear();
    for (NodeId node = ledger.next_with_free(NodeId(0)); node != ledger.no_node();
         node = ledger.next_with_free(NodeId(node.index() + 1))) {
      if (!demand.allows(cluster, node)) continue;
      if (!ledger.can_serve(node, demand.appetite(cluster, node), demand.gpus)) continue;
      out.push_back(make_share(cluster, ledger, demand, node, demand.gpus));
      return true;
    }
    return false;
  }
};

}  // namespace muster
