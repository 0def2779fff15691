#pragma once

// Settings of a ComposedPlanner, fixed when it is created.

#include <cstdint>

#include "base/types/time.h"
#include "engine/model/tenants.h"

namespace muster {

struct ComposedPlannerOptions {
  std::uint64_t seed = 0;  // For random choices of the placement.
  // Discard all placements and rebuild them at each plan, in policy order, as the simulator of
  // Synergy does. Only for comparison with it: this migrates jobs without need.
  bool rebuild = false;
  // Tie rule for equal ranks. If ranks improve: prefer the job that has had the rank for longer,
  // even over a running job. This equals a stable sort of one list at every event, as in the
  // simulator of Tiresias. If ranks drift: prefer the older job, as in its paper. False: a running
  // job keeps its GPUs.
  bool stable_ties = false;
  // Tenants of the cluster; nullptr: no quotas. Must outlive the planner.
  const TenantTree* tenants = nullptr;
  // Minimum time that a job holds its GPUs before it can be preempted.
  Duration min_run;
  // How often a running job saves its work. Work since then is lost if the job is stopped.
  Duration checkpoint_interval = Duration::seconds(300);
};

}  // namespace muster
