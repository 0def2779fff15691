#pragma once

// Tetris (SIGCOMM'14): the job whose demands suit the free servers best, weighed against how much
// work it has left. The rank is the second part; the Chain adds the first.

#include "engine/core/policy.h"

namespace muster {

class Tetris final : public Policy {
 public:
  PolicyTraits traits() const override {
    return {PolicyTraits::WhenStuck::kAlign, /*preempts=*/false, /*drifts=*/false};
  }
  Rank rank(const JobFacts& job) const override { return {job.remaining().us()}; }
};

}  // namespace muster
