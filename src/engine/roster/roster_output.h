#pragma once

// The results of a roster step: orders to carry out, notes for users, and leases that ended.

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/types/time.h"
#include "engine/core/resource_ledger.h"
#include "engine/core/waiting.h"
#include "engine/roster/input.h"
#include "engine/roster/live_job.h"

namespace muster {

// An order to the executor about a lease. An order may be repeated; a lease runs at most once.
struct Order {
  enum class Kind : std::uint8_t { kStart, kStop, kResize, kTest };
  Kind kind = Kind::kStart;
  LiveId id = 0;
  std::uint32_t lease = 0;
  Placement placement;  // For kStart and kResize.
  bool trial = false;
  Duration time_limit;    // For kStart; zero: none.
  std::string node = {};  // For kTest: a NodeTestInput must follow.
};

// Why a job waits, at the moment of the note.
struct WaitFacts {
  struct Room {
    std::int32_t needs = 0;
    std::int32_t free = 0;
    std::int32_t gpus = 0;         // Total GPUs of the type that the job can use.
    std::int32_t most_on_one = 0;  // Maximum number of free GPUs on one node.
    std::size_t waiting = 0;       // Other waiting jobs.
    std::int32_t closed_gpus = 0;
    std::vector<std::string> closed;  // Names of unschedulable nodes.
  };
  std::string cause;
  std::optional<Room> room = {};  // No value: the cause has nothing to do with GPUs.
};
// The resources that a job starts with, and how long it waited.
struct StartFacts {
  Resources total;
  std::string policy, mechanism, placement;
  Duration waited;
  WaitSplit waited_for;
};
// facts_codec.h writes them for users.
using NoteFacts = std::variant<std::monostate, WaitFacts, StartFacts>;

struct RosterNote {
  LiveId id = 0;  // 0: not about a job.
  std::string kind;
  std::string words;
  NoteFacts facts = {};   // The data behind the plan; monostate: none.
  std::string full = {};  // The text with the names of other users' jobs; empty: the same.
  std::string node = {};  // The name of the node that the note is about; empty: none.
};

// A lease that has ended, for the tables.
struct LeaseRecord {
  LiveId id = 0;
  LiveLease lease;
  LeaseOverInput end;
};

}  // namespace muster
