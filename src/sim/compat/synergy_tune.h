#pragma once

// Synergy-Tune as its simulator implements it (SynergyPlanner calls it). It serves jobs in the
// given order, reduces every job that it visits, also if that does not help, and leaves CPUs idle
// that no job can use at its best-case demand. Muster's own version is engine/mechanism/tune.h.

#include "engine/core/mechanism.h"

namespace muster {

class SynergyTune final : public Mechanism {
 public:
  bool adaptive() const override { return true; }
  void place(const Cluster& cluster, const Placer& placer, const ResourceLedger& ledger,
             Ask& ask) const override;
  // REQUIRES: no ask holds a placement.
  void rebalance(const Cluster& cluster, const Placer& placer, ResourceLedger& ledger,
                 std::span<Ask> asks) override;
};

}  // namespace muster
