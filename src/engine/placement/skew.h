#pragma once

// Consolidates unless the model is known to tolerate a spread, as in Tiresias, which profiles a
// model before it gives up locality. A model with a dominant tensor, or without a known skew (see
// Profile::skew()), waits until its gang fits on the minimum number of nodes. Other models take the
// fewest nodes available now and do not wait.

#include "engine/core/placer.h"

namespace muster {

class Skew final : public Placer {
 public:
  bool place(const Cluster& cluster, const ResourceLedger& ledger, const Demand& demand,
             Placement& out) const override;
  bool depends_on_profile() const override { return true; }
};

}  // namespace muster
