#pragma once

// Settings of a ComposedPlanner, fixed when it is created.

#include <cstdint>

#include "base/types/time.h"
#include "engine/model/tenants.h"

namespace muster {

struct ComposedPlannerOptions {
  std::uint64_t seed = 0;  // For random choices of the placement.
  // Tenants of the cluster; nullptr: no quotas. Must outlive the planner.
  const TenantTree* tenants = nullptr;
  // Minimum time that a job holds its GPUs before it can be preempted.
  Duration min_run;
  // How often a running job saves its work. Work since then is lost if the job is stopped.
  Duration checkpoint_interval = Duration::seconds(300);
};

}  // namespace muster
