#pragma once

// Names to parts: builds the planner a user asked for. Both drivers of the engine, the simulator
// and the live manager, get theirs here.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/types/owned.h"
#include "base/types/result.h"
#include "engine/chain/chain.h"
#include "engine/core/cluster.h"
#include "engine/planner/gandiva.h"
#include "engine/planner/optimus.h"
#include "engine/planner/philly.h"
#include "engine/policy/options.h"

namespace muster {

struct SchedulerParts {
  std::string policy = "fifo";
  std::string mechanism = "proportional";
  std::string placement = "consolidate";
};

// Refuses an unknown name, with the nearest known one.
Refusal check_parts(const SchedulerParts& parts);

// A scheduler as its paper describes it: the parts it is put together from.
struct Preset {
  std::string_view name;
  std::string_view doc;
  std::string_view policy, mechanism, placement;  // Empty: it does not consist of parts.
  std::string_view round;
  std::string_view elastic;  // "1-16": so every job may be stretched.
};
std::span<const Preset> presets();
// Refuses an unknown name, with the nearest known one.
Result<const Preset*> find_preset(std::string_view name);

// A scheduler that is no chain of parts.
using WholeScheduler = std::variant<std::monostate, PhillyOptions, GandivaOptions, OptimusOptions>;

struct PlannerOptions {
  SchedulerParts parts;  // That check_parts() accepts.
  PolicyOptions policy;
  WholeScheduler
      whole;  // Instead of the parts. Its tenants, pairs and min_run are those of `chain`.
  const PairTable* pairs = nullptr;  // How fast two jobs run on one GPU; null: nobody knows.
  ChainOptions chain;
  // Instead of the mechanism named in `parts`: for trying one that is not in the table.
  std::function<Owned<Mechanism>()> mechanism;
};

struct MadePlanner {
  Owned<Planner> planner;
  Pooling pooling = Pooling::kPerNode;  // How the engine must count for it.
};

// `cluster`, and what the options point to, must outlive the planner.
MadePlanner make_planner(const Cluster& cluster, const PlannerOptions& options);

}  // namespace muster
