#pragma once

// Shortest remaining service (remaining time times GPUs) first, preemptive.

#include "base/types/saturate.h"
#include "engine/policy/traits.h"

namespace muster {

class Srsf final : public PolicyWith<kPreemptingTraits> {
 public:
  Rank rank(const JobFacts& job) const override {
    return {saturating_multiply(job.remaining().us(), job.gpus)};
  }
};

}  // namespace muster
