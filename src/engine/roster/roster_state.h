#pragma once

// The state of a roster as a plain value: Roster::state() returns it, and Roster::restore() brings
// a new roster to it, perhaps with other nodes and settings. roster_codec.h writes it to the
// journal. It contains the jobs and leases, but no other memory of the engine.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/types/id.h"
#include "base/types/time.h"
#include "engine/failure/node_blame.h"
#include "engine/failure/reasons.h"
#include "engine/roster/live_job.h"
#include "engine/roster/node_status.h"

namespace muster {

// Jobs of one array, or of one user and name: the array's id and "", or 0 and the name.
using Siblings = std::pair<LiveId, std::string>;

// How the last siblings ended.
struct SiblingStreak {
  std::optional<Reason> reason;
  std::int32_t failed = 0;  // In a row, for that reason.
  bool any_good = false;    // One has succeeded; for arrays only.
};

// A job that succeeded, for the estimates of later ones.
struct FinishedSample {
  std::string user;
  std::string tenant;
  std::string name;
  std::int32_t gpus = 1;
  Duration work;
  Instant submitted;
};

struct RosterState {
  Instant now;
  std::string digest;
  std::vector<std::string> nodes;  // Names. A NodeId in this state is an index into this list.
  // Active jobs by id. A job was with the engine if its row has a value; the number of the row has
  // no meaning. `past`, `lease_base` and `waited` include that row.
  std::vector<LiveJob> jobs;
  std::vector<NodeId> drained;
  std::vector<std::pair<NodeId, Instant>> drain_ends;  // Planned ends, by drained node.
  std::vector<std::pair<NodeId, NodeQuarantine>> quarantined;
  std::vector<std::pair<NodeId, NodeCondition>> conditions;
  std::vector<NodeId> checks;
  BlameMemory blame;                 // A TenantId in it is an index into ...
  std::vector<std::string> tenants;  // ... this list of names; empty: no tenants.
  std::vector<std::pair<Siblings, SiblingStreak>> streaks;
  std::vector<FinishedSample> finished;
};

}  // namespace muster
