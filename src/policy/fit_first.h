#pragma once

// First come, first served among those that fit: a job that does not is passed over.

#include "core/policy.h"

namespace muster {

class FitFirst final : public Policy {
 public:
  PolicyTraits traits() const override {
    return {PolicyTraits::WhenStuck::kSkip, /*preempts=*/false, /*drifts=*/false};
  }
  Rank rank(const JobFacts& job) const override { return {job.submitted.us()}; }
};

}  // namespace muster
