#pragma once

// Fewest GPUs first, preemptive; the older job in a tie.

#include "engine/policy/traits.h"

namespace muster {

class SmallestFirst final : public PolicyWith<kPreemptingTraits> {
 public:
  Rank rank(const JobFacts& job) const override { return {job.gpus}; }
};

}  // namespace muster
