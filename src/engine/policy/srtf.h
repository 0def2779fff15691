#pragma once

// Shortest remaining time first, preemptive.

#include "engine/policy/traits.h"

namespace muster {

class Srtf final : public PolicyWith<kPreemptingTraits> {
 public:
  Rank rank(const JobFacts& job) const override { return {job.remaining().us()}; }
};

}  // namespace muster
