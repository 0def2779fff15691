#pragma once

// Names to parts: builds the planner a user asked for.

#include <memory>
#include <string>

#include "base/result.h"
#include "core/chain.h"
#include "core/cluster.h"
#include "policy/options.h"

namespace muster {

struct SchedulerParts {
  std::string policy = "fifo";
  std::string mechanism = "proportional";
  std::string placement = "consolidate";
};

// Refuses an unknown name, with the nearest known one.
Refusal check_parts(const SchedulerParts& parts);

// For parts that check_parts() accepts. `cluster` must outlive the chain.
// A `mechanism` that is given takes the place of the named one.
std::unique_ptr<Chain> make_chain(const SchedulerParts& parts, const PolicyOptions& policy_options,
                                  const Cluster& cluster, const ChainOptions& options,
                                  std::unique_ptr<Mechanism> mechanism = nullptr);

}  // namespace muster
