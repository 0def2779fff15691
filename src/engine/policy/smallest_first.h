#pragma once

// Fewest GPUs first, preemptively; among equals the older.

#include "engine/policy/traits.h"

namespace muster {

class SmallestFirst final : public PolicyWith<kPreemptingTraits> {
 public:
  Rank rank(const JobFacts& job) const override { return {job.gpus}; }
};

}  // namespace muster
