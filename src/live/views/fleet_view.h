#pragma once

// All GPUs of the cluster as the dashboard draws them: the job on each GPU, or why it is free.

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "api/port/service.h"
#include "engine/roster/roster.h"
#include "live/config/state_directory.h"
#include "live/lease/lease_runner.h"
#include "live/views/views.h"

namespace muster {

// The reader, and data that the roster does not have.
struct FleetSnapshot {
  const Caller& caller;
  const std::vector<NodeCaveats>& notes;
  const UseSample* use = nullptr;  // nullptr: unknown.
};

// Unused GPUs of a node: free for any job, and reserved for a job that is about to start.
struct GpuRoom {
  int free = 0;
  int reserved = 0;
};
std::vector<GpuRoom> gpu_rooms(const Roster& roster, const LiveClock& clock);

nlohmann::json fleet_view(const Roster& roster, const FleetSnapshot& look, const LiveClock& clock);

// Returns the job's speed relative to its speed with the same GPUs and all the CPU and memory it
// can use. Returns nullopt if there is no measured profile.
std::optional<double> relative_speed(const Cluster& cluster, const JobSpec& spec,
                                     const Placement& placement);

}  // namespace muster
