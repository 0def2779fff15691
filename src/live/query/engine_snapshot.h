#pragma once

// A copy of the engine state at one instant, so that a worker can answer questions about the future
// while the manager continues.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/engine.h"
#include "engine/roster/input.h"
#include "sim/forecast/replanned_engine.h"
#include "sim/forecast/runtime_sampler.h"

namespace muster {

class Roster;

struct EngineSnapshot {
  std::shared_ptr<const void> world;  // Owns the data that the other members point to.
  Instant now;
  Engine engine;
  SchedulingRules rules;
  RuntimeSampler guesses;
  std::vector<LiveId> live_of;     // By JobId.
  std::vector<std::string> users;  // By UserId.
  // By NodeId, for unschedulable nodes: "drained", "drained for 2 h", or "in quarantine: ..." or
  // "unusable: ..." with the reason.
  std::vector<std::string> closed_why;
  // Nodes that will be tested, or whose maintenance has an end; soonest first.
  std::vector<FutureNode> nodes;
};

// Copies the engine of the roster. Its time is `now`, or the roster's last step if that is later.
// Manager thread only.
EngineSnapshot engine_snapshot(const Roster& roster, Instant now);

}  // namespace muster
