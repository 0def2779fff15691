#pragma once

// First come, first served, to the letter: while the oldest job does not fit, nobody starts.

#include "core/policy.h"

namespace muster {

class Fifo final : public Policy {
 public:
  PolicyTraits traits() const override {
    return {PolicyTraits::WhenStuck::kWait, /*preempts=*/false, /*drifts=*/false};
  }
  Rank rank(const JobFacts& job) const override { return {job.submitted.us()}; }
};

}  // namespace muster
