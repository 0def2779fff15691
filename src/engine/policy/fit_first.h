#pragma once

// First come, first served among jobs that fit; a job that does not fit is skipped.

#include "engine/policy/traits.h"

namespace muster {

class FitFirst final : public PolicyWith<kSkippingTraits> {
 public:
  Rank rank(const JobFacts& job) const override { return {job.submitted.us()}; }
};

}  // namespace muster
