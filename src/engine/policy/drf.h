#pragma once

// Dominant-resource fairness over time: the job that has received the smallest dominant share so
// far goes first. The dominant share is the largest of its fractions of the cluster's GPU, CPU and
// memory time. Running jobs fall back as they receive, so it swaps at ticks only.

#include "engine/policy/traits.h"

namespace muster {

class Drf final : public PolicyWith<kDriftingTraits> {
 public:
  Rank rank(const JobFacts& job) const override {
    // Share-microseconds are small numbers on a large cluster; a thousandth is fine enough.
    return {static_cast<std::int64_t>(job.dominant_share_us() * 1000.0)};
  }
};

}  // namespace muster
