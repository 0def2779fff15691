#pragma once

// Least attained service first: the GPU time held so far, as Tiresias' 2D-LAS without its queues.
// Needs no estimate. Running jobs fall back as they run, so it swaps at ticks only.

#include "engine/policy/traits.h"

namespace muster {

class Las final : public PolicyWith<kDriftingTraits> {
 public:
  Rank rank(const JobFacts& job) const override { return {job.gpu_us}; }
};

}  // namespace muster
