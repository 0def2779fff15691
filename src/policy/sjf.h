#pragma once

// Shortest job first by the estimate; what runs is left alone.

#include "core/policy.h"

namespace muster {

class Sjf final : public Policy {
 public:
  PolicyTraits traits() const override {
    return {PolicyTraits::WhenStuck::kSkip, /*preempts=*/false, /*drifts=*/false};
  }
  Rank rank(const JobFacts& job) const override { return {job.estimate.us()}; }
};

}  // namespace muster
