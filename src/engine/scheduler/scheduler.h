#pragma once

// Builds the planner that a user selected by name. The simulator and the live manager both call
// make_planner().

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/types/owned.h"
#include "base/types/result.h"
#include "engine/chain/composed_planner.h"
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

// Fails for an unknown name, with a suggestion.
MaybeError check_parts(const SchedulerParts& parts);

// A published scheduler and the parts that implement it.
struct Preset {
  std::string_view name;
  std::string_view doc;
  std::string_view policy, mechanism, placement;  // Empty: a separate planner implements it.
  std::string_view round;                         // Length of a round; empty: no rounds.
  std::string_view elastic;  // "1-16": GPU range for every job; empty: not elastic.
};
std::span<const Preset> presets();
// Fails for an unknown name, with a suggestion.
Result<const Preset*> find_preset(std::string_view name);

// Options of a scheduler with a separate planner; monostate: use the parts.
using WholeScheduler = std::variant<std::monostate, PhillyOptions, GandivaOptions, OptimusOptions>;

struct PlannerOptions {
  SchedulerParts parts;  // Must pass check_parts().
  PolicyOptions policy;
  WholeScheduler
      // Replaces the parts if set. Its tenants, pairs and min_run come from `chain` and `pairs`.
      whole;
  const PairTable* pairs = nullptr;  // Speeds of two jobs on one GPU; nullptr: unknown.
  ComposedPlannerOptions chain;
  // Replaces the mechanism in `parts` if set; for mechanisms that are not in the table.
  std::function<Owned<Mechanism>()> mechanism;
};

struct MadePlanner {
  Owned<Planner> planner;
  Pooling pooling = Pooling::kPerNode;  // Must be passed to the engine (EngineOptions::pooling).
};

// The parts of a composed planner.
struct PlannerParts {
  Owned<Policy> policy;
  Owned<Mechanism> mechanism;
  Owned<Placer> placer;

  Pooling pooling() const { return pooling_of(*mechanism, *placer); }
};
PlannerParts make_parts(const PlannerOptions& options);
MadePlanner make_composed(const Cluster& cluster, PlannerParts parts,
                          const ComposedPlannerOptions& options);

// `cluster`, and what the options point to, must outlive the planner.
MadePlanner make_planner(const Cluster& cluster, const PlannerOptions& options);

}  // namespace muster
