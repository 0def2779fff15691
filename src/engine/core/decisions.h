#pragma once

// The decisions of one engine step as data. The live manager stores them in its journal. A later
// engine that decides differently repeats them with Engine::repeat() during recovery. Everything
// else in a step follows from the events: starts of promised leases, resizes, ends and wake-ups.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/event.h"
#include "engine/failure/node_blame.h"
#include "engine/failure/retry.h"

namespace muster {

// Version of the decisions: of the engine, its planners and the retry rules. Increase it with every
// change after which the same events can lead to other decisions. Recovery compares it with the
// version in the journal. Journals without a version were written by version 1. Rules of the roster
// (held siblings, test times of nodes) are not recorded: a change of those must still lead the
// entries of earlier versions to the same state.
inline constexpr std::uint32_t kEngineVersion = 4;

// The decision about a failed attempt.
struct FailureDecision {
  JobId job;
  Epoch epoch = 0;
  Reason reason = Reason::kNoSignature;
  Verdict verdict;
  std::vector<NodeId> avoided;  // Nodes that the next attempt must not use.
};
// A node that is quarantined because of the evidence against it.
struct Quarantine {
  NodeId node;
  Charge charge;
  std::optional<JobId> job;  // The job whose attempt failed there; no value: a measured event.
};
// A change that a plan makes to one job: the placement it gets, or none if its lease is stopped.
struct PlannedChange {
  JobId job;
  Placement placement;
};
// The GPUs of a node that no job may get after a plan, because the node is unschedulable or
// external jobs use it. They depend on the order in which the planner tried changes, so they are
// recorded.
struct BlockedGpus {
  NodeId node;
  SlotMask slots = 0;
};
// A job that can never run here.
struct Rejection {
  JobId job;
  std::string why;
};

struct Decisions {
  // The changes of the plan in the order in which the planner made them. No value: the step made no
  // plan. Empty: the plan changed nothing.
  std::optional<std::vector<PlannedChange>> plan;
  std::vector<BlockedGpus> blocked;  // The nodes where the plan changed them.
  // A job no longer avoids nodes that it failed on, which is a reason to plan. A repeating engine
  // cannot compute this, because it has no data about the nodes that restored jobs avoid.
  bool avoidance_ended = false;
  std::vector<Rejection> rejections;
  std::vector<FailureDecision> reactions;
  std::vector<Quarantine> quarantines;
};

}  // namespace muster
