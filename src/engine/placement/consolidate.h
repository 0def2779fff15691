#pragma once

// As few servers as possible, and on each the tightest fit: a gang that fits on one server goes to
// the fitting server with the fewest free GPUs; a larger one takes the freest servers first and
// puts its last part where it fits most tightly.

#include "engine/core/placer.h"

namespace muster {

class Consolidate final : public Placer {
 public:
  bool place(const Cluster& cluster, const Books& books, const Demand& demand,
             Placement& out) const override;
};

}  // namespace muster
