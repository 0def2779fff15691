#pragma once

// Takes random free GPUs on any nodes: a worst-case baseline. Seeded by Demand::salt, so runs are
// reproducible.

#include "engine/core/placer.h"

namespace muster {

class RandomPlacer final : public Placer {
 public:
  bool place(const Cluster& cluster, const ResourceLedger& ledger, const Demand& demand,
             Placement& out) const override;
};

}  // namespace muster
