#pragma once

// Strict locality, as Tiresias' "yarn" scheme: a gang that fits on one server must be on one, the
// first that has room; a larger one needs whole idle servers of one rack, and one more server there
// for the rest. Otherwise it waits.

#include "engine/core/placer.h"

namespace muster {

class Yarn final : public Placer {
 public:
  bool place(const Cluster& cluster, const Books& books, const Demand& demand,
             Placement& out) const override;
};

}  // namespace muster
