#pragma once

// Tetris (SIGCOMM'14): prefers jobs whose demands match the free nodes best, weighed against their
// remaining work. rank() is the remaining work; ComposedPlanner adds the match.

#include "engine/core/policy.h"

namespace muster {

class Tetris final : public Policy {
 public:
  PolicyTraits traits() const override {
    return {PolicyTraits::BlockedHeadRule::kAlign, /*preempts=*/false, /*drifts=*/false};
  }
  Rank rank(const JobFacts& job) const override { return {job.remaining().us()}; }
};

}  // namespace muster
