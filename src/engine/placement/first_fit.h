#pragma once

// The lowest-numbered free GPUs that have the CPU and memory beside them, wherever they are. A gang
// may end up on many servers; one that asks for few gets the fewest if the first are too many.

#include "engine/core/placer.h"

namespace muster {

class FirstFit : public Placer {
 public:
  bool place(const Cluster& cluster, const Books& books, const Demand& demand,
             Placement& out) const override;
};

// The same with the cluster counted as one server: only the number of GPUs matters.
class Count final : public FirstFit {
 public:
  Pooling pooling() const override { return Pooling::kWholeCluster; }
};

}  // namespace muster
