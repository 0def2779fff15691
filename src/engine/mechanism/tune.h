#pragma once

// Synergy-Tune (OSDI'22): a job gets its best-case demand if that fits, otherwise its proportional
// share. If other jobs hold too much for that, some of them are reduced to their share. So no job
// waits that could run at its share, and no job is slower than at its share.
//
// Our version serves large demands first, and reduces the jobs that are last in the order of the
// policy first. Running jobs keep their GPUs, unless their best-case
// demand fits elsewhere and makes them much faster. CPUs that are left go to the jobs that gain
// most. sim/compat/synergy_tune.h is the version of the published simulator.

#include "engine/core/mechanism.h"

namespace muster {

class Tune final : public Mechanism {
 public:
  bool adaptive() const override { return true; }
  void place(const Cluster& cluster, const Placer& placer, const ResourceLedger& ledger,
             Ask& ask) const override;
  void rebalance(const Cluster& cluster, const Placer& placer, ResourceLedger& ledger,
                 std::span<Ask> asks) override;
};

}  // namespace muster
