#pragma once

// Shortest remaining time first, preemptive.

#include "engine/core/policy.h"

namespace muster {

class Srtf final : public Policy {
 public:
  PolicyTraits traits() const override {
    return {PolicyTraits::BlockedHeadRule::kSkip, /*preempts=*/true, /*drifts=*/false,
            /*improves=*/true};
  }
  Rank rank(const JobFacts& job) const override { return {job.remaining().us()}; }
};

}  // namespace muster
