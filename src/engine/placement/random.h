#pragma once

// Free GPUs anywhere, picked at random: the worst a careless scheduler would do. Seeded, so a run
// repeats.

#include "engine/core/placer.h"

namespace muster {

class RandomPlacer final : public Placer {
 public:
  bool place(const Cluster& cluster, const Books& books, const Demand& demand,
             Placement& out) const override;
};

}  // namespace muster
