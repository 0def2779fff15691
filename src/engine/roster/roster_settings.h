#pragma once

// The settings that a roster decides by. They do not change during its life.

#include <cstddef>
#include <optional>

#include "base/types/time.h"
#include "engine/core/engine.h"
#include "engine/model/profile.h"
#include "engine/model/tenants.h"
#include "engine/model/topology.h"
#include "engine/scheduler/scheduler.h"

namespace muster {

struct RosterSettings {
  Topology topology;
  ProfileTable profiles;
  std::optional<TenantTree> tenants;
  PlannerOptions planner;  // Its tenants are those above.
  EngineOptions engine;
  Duration quarantine = Duration::seconds(600);  // Time until the node is tested.
  bool uses_profiles = false;                    // The mechanism uses them.
  std::size_t learned =
      0;  // The last N profiles were measured on jobs; see live/config/learned_profiles.h.
};

}  // namespace muster
