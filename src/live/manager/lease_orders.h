#pragma once

// The roster's orders as the lease runner takes them.

#include <span>
#include <string>
#include <vector>

#include "engine/roster/roster.h"
#include "live/lease/hands.h"
#include "live/lease/launch.h"
#include "live/lease/profiler.h"

namespace muster {

struct LeaseOrderSettings {
  LaunchSettings launch;
  std::vector<std::string> node_test;  // The command that a node must pass to return.
};

HandOrder lease_order(const Roster& roster, const Order& order, const LeaseOrderSettings& settings);

// After a restart: the earlier orders may or may not have been carried out, so each lease and each
// node test is ordered again.
std::vector<HandOrder> orders_again(const Roster& roster, const LeaseOrderSettings& settings);

std::vector<HandOrder> limit_orders(std::span<const Profiler::Limit> limits);

}  // namespace muster
