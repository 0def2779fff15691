#pragma once

// Least attained service (GPU time) first: Tiresias' 2D-LAS without its queues. Needs no estimate.
// The rank of a running job gets worse, so it preempts at ticks only.

#include "engine/policy/traits.h"

namespace muster {

class Las final : public PolicyWith<kDriftingTraits> {
 public:
  Rank rank(const JobFacts& job) const override { return {job.gpu_us}; }
};

}  // namespace muster
