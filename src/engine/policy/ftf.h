#pragma once

// Finish-time fairness as Themis means it: rho is the time a job will have taken in this cluster
// over the time it would take with its GPUs to itself; the worst-off (largest rho) goes first.
// Waiting makes rho grow, running keeps it level, so it swaps at ticks only.

#include <algorithm>

#include "engine/policy/traits.h"

namespace muster {

class Ftf final : public PolicyWith<kDriftingTraits> {
 public:
  // -rho = -(now - submitted + remaining) / estimate, which moves with time while the job waits.
  Rank rank(const JobFacts& job) const override {
    return {job.submitted.us() - job.remaining().us(), -1,
            std::max<std::int64_t>(1, job.estimate.us())};
  }
};

}  // namespace muster
