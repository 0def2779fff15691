#pragma once

// Shortest job first by the estimate; never preempts.

#include "engine/policy/traits.h"

namespace muster {

class Sjf final : public PolicyWith<kSkippingTraits> {
 public:
  Rank rank(const JobFacts& job) const override { return {job.estimate.us()}; }
};

}  // namespace muster
