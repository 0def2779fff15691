#pragma once

// Together only where it matters, as Tiresias: a model whose largest tensor dominates (its
// profile's skew) waits for the fewest servers its gang can be on at all; any other takes the
// fewest there are now and does not wait for better.

#include "engine/core/placer.h"

namespace muster {

class Skew final : public Placer {
 public:
  bool place(const Cluster& cluster, const Books& books, const Demand& demand,
             Placement& out) const override;
  bool depends_on_profile() const override { return true; }
};

}  // namespace muster
