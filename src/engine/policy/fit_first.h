#pragma once

// First come, first served among those that fit: a job that does not is passed over.

#include "engine/policy/traits.h"

namespace muster {

class FitFirst final : public PolicyWith<kSkippingTraits> {
 public:
  Rank rank(const JobFacts& job) const override { return {job.submitted.us()}; }
};

}  // namespace muster
