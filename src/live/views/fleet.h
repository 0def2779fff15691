#pragma once

// Every GPU of the cluster as the dashboard draws it: who has it, or why nobody does.

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "api/port/service.h"
#include "engine/roster/roster.h"
#include "live/config/instance.h"
#include "live/lease/hands.h"
#include "live/views/views.h"

namespace muster {

// Who looks, and what is known beside the roster.
struct FleetLook {
  const Caller& caller;
  const std::vector<NodeNotes>& notes;
  const UseSample* use = nullptr;  // Nothing: nobody knows.
};

// GPUs of each server that nobody holds: for anybody, and kept for a job that is to start.
struct GpuRoom {
  int free = 0;
  int reserved = 0;
};
std::vector<GpuRoom> gpu_rooms(const Roster& roster, const LiveClock& clock);

nlohmann::json fleet_view(const Roster& roster, const FleetLook& look, const LiveClock& clock);

// How fast the job is with what it holds, of what it could be with its GPUs and all the CPU and
// memory it can use. Nothing if nobody has measured its like.
std::optional<double> relative_speed(const Cluster& cluster, const JobSpec& spec,
                                     const Placement& placement);

}  // namespace muster
