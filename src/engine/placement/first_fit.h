#pragma once

// Takes the lowest-numbered free GPUs with enough CPU and memory on their node. A gang may span
// many nodes. If that exceeds demand.spread, Consolidate places it.

#include "engine/core/placer.h"

namespace muster {

class FirstFit : public Placer {
 public:
  bool place(const Cluster& cluster, const ResourceLedger& ledger, const Demand& demand,
             Placement& out) const override;
};

// The same, with the cluster as one pool: only the number of GPUs matters.
class Count final : public FirstFit {
 public:
  Pooling pooling() const override { return Pooling::kWholeCluster; }
};

}  // namespace muster
