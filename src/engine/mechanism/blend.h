#pragma once

// Muster's own mechanism. Each job gets at least the amount that makes it as fast as its
// proportional share. The rest of a node's CPU and memory goes where it adds the most speed,
// according to the full profiles. Jobs move between nodes if the total speed gains by it. Starts
// from the plan of Tune and keeps the better of both, so the total is never below that of Tune.

#include "engine/core/mechanism.h"
#include "engine/mechanism/node_solver.h"

namespace muster {

class Blend final : public Mechanism {
 public:
  bool adaptive() const override { return true; }
  void place(const Cluster& cluster, const Placer& placer, const ResourceLedger& ledger,
             Ask& ask) const override;
  void rebalance(const Cluster& cluster, const Placer& placer, ResourceLedger& ledger,
                 std::span<Ask> asks) override;

 private:
  NodeSolver solver_;
};

}  // namespace muster
