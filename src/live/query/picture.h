#pragma once

// What a question about the future needs of the roster, copied at one instant, so that it can be
// answered on another thread while the manager goes on.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/engine.h"
#include "engine/roster/input.h"
#include "sim/forecast/guesses.h"
#include "sim/forecast/rebuilt.h"

namespace muster {

class Roster;

struct Picture {
  std::shared_ptr<const void> world;  // Keeps alive what the rest points to.
  Instant now;
  Engine engine;
  Rules rules;
  Guesses guesses;
  std::vector<LiveId> live_of;     // By JobId.
  std::vector<std::string> users;  // By UserId.
  // By NodeId, of servers that take no jobs: "drained", or "in quarantine: ..." or "unusable: ..."
  // with the reason.
  std::vector<std::string> closed_why;
};

// Copies it. The instant of the copy is `now`, but not before the roster's last step.
Picture engine_snapshot(const Roster& roster, Instant now);

}  // namespace muster
