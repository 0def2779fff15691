#pragma once

// Synergy-Tune (OSDI'22): a job gets its best-case demand if that fits; otherwise its proportional
// share; and if even that does not fit, because others hold more than theirs, some of those fall
// back to their share. So nobody who could run waits, and nobody runs slower than at its share.
//
// Ours keeps running jobs on their GPUs and serves large demands first; the published simulator's
// version rebuilds everything in policy order.

#include "engine/core/mechanism.h"

namespace muster {

class Tune final : public Mechanism {
 public:
  bool adaptive() const override { return true; }
  void place(const Cluster& cluster, const Placer& placer, const Books& books,
             Ask& ask) const override;
  void rebalance(const Cluster& cluster, const Placer& placer, Books& books, std::span<Ask> asks,
                 Fidelity fidelity) override;
};

}  // namespace muster
