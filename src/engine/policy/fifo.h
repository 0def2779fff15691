#pragma once

// First come, first served, to the letter: while the oldest job does not fit, nobody starts.

#include "engine/policy/traits.h"

namespace muster {

class Fifo final : public PolicyWith<kBlockingTraits> {
 public:
  Rank rank(const JobFacts& job) const override { return {job.submitted.us()}; }
};

}  // namespace muster
