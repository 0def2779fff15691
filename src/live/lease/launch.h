#pragma once

// From what was asked and where it is to run to what each server's shim is told.

#include <string>
#include <vector>

#include "engine/roster/live_job.h"
#include "engine/roster/roster.h"
#include "exec/lease/control.h"
#include "exec/lease/spec.h"

namespace muster {

struct LaunchSettings {
  std::string instance;  // Of this manager; makes the leases' tokens.
  Duration grace = Duration::seconds(30);
  std::int64_t log_cap_bytes = 16 << 20;
  int log_files = 3;
  std::string cgroup_parent;
};

// One a server of the placement, in its order.
std::vector<LaunchSpec> launch_specs(const LiveJob& job, const Order& order,
                                     const LaunchSettings& settings);
std::vector<Limits> launch_limits(const Placement& placement);

}  // namespace muster
