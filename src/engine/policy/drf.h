#pragma once

// Dominant-resource fairness over time: the job with the smallest accumulated dominant share goes
// first. The dominant share is the largest of its fractions of the cluster's GPU, CPU and memory
// time. The rank of a running job gets worse, so it preempts at ticks only.

#include "engine/policy/traits.h"

namespace muster {

class Drf final : public PolicyWith<kDriftingTraits> {
 public:
  Rank rank(const JobFacts& job) const override {
    // Share-microseconds are small on a large cluster, so keep three decimals.
    return {static_cast<std::int64_t>(job.dominant_share_us() * 1000.0)};
  }
};

}  // namespace muster
