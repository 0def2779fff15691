#pragma once

// Converts a start order to the launch specification of each node's shim.

#include <optional>
#include <string>
#include <vector>

#include "base/os/key_file.h"
#include "engine/roster/live_job.h"
#include "engine/roster/roster.h"
#include "exec/lease/control.h"
#include "exec/lease/spec.h"
#include "exec/machine/machine_facts.h"

namespace muster {

struct LaunchSettings {
  std::string instance;  // Id of this manager.
  SecretKey key{};       // The tokens and marks of this manager's leases are HMACs with it.
  Duration grace = Duration::seconds(30);
  std::int64_t log_cap_bytes = 16 << 20;
  int log_files = 3;
  std::string cgroup_parent;
  // The GPUs of this machine by slot; empty if they are virtual. Nullopt: another program assigns
  // the devices.
  std::optional<std::vector<GpuFacts>> gpus;
};

// Both return one entry per node of the placement, in its order.
std::vector<LaunchSpec> launch_specs(const LiveJob& job, const Order& order,
                                     const LaunchSettings& settings);
std::vector<Limits> launch_limits(const Placement& placement);

}  // namespace muster
