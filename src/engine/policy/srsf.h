#pragma once

// Shortest remaining service (remaining time times GPUs) first, preemptive.

#include "base/types/saturate.h"
#include "engine/core/policy.h"

namespace muster {

class Srsf final : public Policy {
 public:
  PolicyTraits traits() const override {
    return {PolicyTraits::BlockedHeadRule::kSkip, /*preempts=*/true, /*drifts=*/false,
            /*improves=*/true};
  }
  Rank rank(const JobFacts& job) const override {
    return {saturating_multiply(job.remaining().us(), job.gpus)};
  }
};

}  // namespace muster
