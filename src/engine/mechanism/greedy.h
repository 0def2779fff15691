#pragma once

// Every job gets its best-case demand or waits (Synergy-Greedy). Wastes GPUs whose CPUs and memory
// have gone to others; shown for comparison.

#include "engine/core/mechanism.h"

namespace muster {

class Greedy final : public Mechanism {
 public:
  bool depends_on_profile() const override { return true; }
  void place(const Cluster& cluster, const Placer& placer, const Books& books,
             Ask& ask) const override;
};

}  // namespace muster
