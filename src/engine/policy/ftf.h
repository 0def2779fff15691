#pragma once

// Finish-time fairness as defined by Themis. Rho is a job's total time in this cluster divided by
// its run time on dedicated GPUs; the largest rho goes first. Rho grows while a job waits and
// stays constant while it runs, so it preempts at ticks only.

#include <algorithm>

#include "engine/policy/traits.h"

namespace muster {

class Ftf final : public PolicyWith<kDriftingTraits> {
 public:
  // -rho = -(now - submitted + remaining) / estimate; changes while the job waits.
  Rank rank(const JobFacts& job) const override {
    return {job.submitted.us() - job.remaining().us(), -1,
            std::max<std::int64_t>(1, job.estimate.us())};
  }
};

}  // namespace muster
