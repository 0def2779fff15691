#pragma once

// Strict first come, first served: while the oldest job does not fit, no job starts.

#include "engine/policy/traits.h"

namespace muster {

class Fifo final : public PolicyWith<kBlockingTraits> {
 public:
  Rank rank(const JobFacts& job) const override { return {job.submitted.us()}; }
};

}  // namespace muster
