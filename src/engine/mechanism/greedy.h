#pragma once

// Synergy-Greedy: each job gets its best-case demand or waits. GPUs stay idle when other jobs hold
// the CPUs and memory of their node. For comparison only.

#include "engine/core/mechanism.h"

namespace muster {

class Greedy final : public Mechanism {
 public:
  bool depends_on_profile() const override { return true; }
  void place(const Cluster& cluster, const Placer& placer, const ResourceLedger& ledger,
             Ask& ask) const override;
};

}  // namespace muster
