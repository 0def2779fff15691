#pragma once

// The planner of Synergy's simulator: each round discards all placements and places all jobs again
// in policy order. This migrates jobs without need. It ignores tenants, priorities and min_run.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/planner.h"
#include "engine/scheduler/scheduler.h"

namespace muster {

class SynergyPlanner final : public Planner {
 public:
  // `seed` is for random choices of the placement.
  SynergyPlanner(const Cluster& cluster, PlannerParts parts, std::uint64_t seed);

  std::optional<std::string> refuse(const JobSpec& spec) override;
  void enqueue(const View& view, JobId job) override;
  void forget(const View& view, JobId job, JobExit job_exit) override;
  void plan(const View& view, Draft& draft, PlanTrigger trigger) override;
  bool drifts() const override { return traits_.preempts && traits_.drifts; }
  Instant review_at() const override;

 private:
  Rank rank(const View& view, JobId job) const;
  void review(const View& view);

  const Cluster* cluster_;
  PlannerParts parts_;
  std::uint64_t seed_;
  PolicyTraits traits_;
  std::vector<JobId> waiting_;  // In no order.
  std::vector<Ask> asks_;
  IdVector<JobId, std::uint8_t> known_;  // Jobs that have waited before.
};

}  // namespace muster
