#pragma once

// Shortest remaining service first: remaining time times GPUs, preemptively.

#include "base/types/saturate.h"
#include "engine/core/policy.h"

namespace muster {

class Srsf final : public Policy {
 public:
  PolicyTraits traits() const override {
    return {PolicyTraits::WhenStuck::kSkip, /*preempts=*/true, /*drifts=*/false, /*improves=*/true};
  }
  Rank rank(const JobFacts& job) const override {
    return {saturating_multiply(job.remaining().us(), job.gpus)};
  }
};

}  // namespace muster
