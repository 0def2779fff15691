#pragma once

// Fewest GPUs first, preemptively; among equals the older.

#include "core/policy.h"

namespace muster {

class SmallestFirst final : public Policy {
 public:
  PolicyTraits traits() const override {
    return {PolicyTraits::WhenStuck::kSkip, /*preempts=*/true, /*drifts=*/false};
  }
  Rank rank(const JobFacts& job) const override { return {job.gpus}; }
};

}  // namespace muster
