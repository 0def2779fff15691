#pragma once

// For the tests of the Chain: the simplest mechanism and the simplest placement there are.

#include "engine/core/mechanism.h"
#include "engine/core/placer.h"

namespace muster {

class FairShare final : public Mechanism {
 public:
  void place(const Cluster& cluster, const Placer& placer, const Books& books,
             Ask& ask) const override {
    placer.place(cluster, books, fair_demand(ask), ask.given);
  }
};

// The first server with room for all of the gang.
class OneServer final : public Placer {
 public:
  bool place(const Cluster& cluster, const Books& books, const Demand& demand,
             Placement& out) const override {
    out.clear();
    for (NodeId node = books.next_with_free(NodeId(0)); node != books.no_node();
         node = books.next_with_free(NodeId(node.index() + 1))) {
      if (!demand.allows(cluster, node)) continue;
      if (!books.can_serve(node, demand.appetite(cluster, node), demand.gpus)) continue;
      out.push_back(make_share(cluster, books, demand, node, demand.gpus));
      return true;
    }
    return false;
  }
};

}  // namespace muster
