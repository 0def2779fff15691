#pragma once

// Every job gets the share of CPU and memory that its GPUs are of the server's. What most clusters
// do, and what every gain is measured against.

#include "engine/core/mechanism.h"

namespace muster {

class Proportional final : public Mechanism {
 public:
  void place(const Cluster& cluster, const Placer& placer, const Books& books,
             Ask& ask) const override;
};

}  // namespace muster
