#pragma once

// Least attained service first: the GPU time held so far, as Tiresias' 2D-LAS without its queues.
// Needs no estimate. Running jobs fall back as they run, so it swaps at ticks only.

#include "core/policy.h"

namespace muster {

class Las final : public Policy {
 public:
  PolicyTraits traits() const override {
    return {PolicyTraits::WhenStuck::kSkip, /*preempts=*/true, /*drifts=*/true};
  }
  Rank rank(const JobFacts& job) const override { return {job.gpu_us}; }
};

}  // namespace muster
