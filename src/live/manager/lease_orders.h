#pragma once

// Converts the roster's orders to orders of the lease runner.

#include <span>
#include <string>
#include <vector>

#include "engine/roster/roster.h"
#include "live/lease/launch.h"
#include "live/lease/lease_runner.h"
#include "live/lease/profiler.h"

namespace muster {

struct LeaseOrderSettings {
  LaunchSettings launch;
  std::vector<std::string> node_test;  // Command that a quarantined node must pass.
};

LeaseOrder lease_order(const Roster& roster, const Order& order,
                       const LeaseOrderSettings& settings);

// Used after a restart. Earlier orders may or may not have been executed, so this orders each lease
// and each node test again.
std::vector<LeaseOrder> orders_again(const Roster& roster, const LeaseOrderSettings& settings);

std::vector<LeaseOrder> limit_orders(std::span<const Profiler::Limit> limits);

}  // namespace muster
