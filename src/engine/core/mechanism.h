#pragma once

// Allocation of CPU and memory to jobs, in addition to their GPUs. A Placer finds the nodes.

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "engine/core/cluster.h"
#include "engine/core/draft.h"
#include "engine/core/placer.h"
#include "engine/core/rank.h"
#include "engine/core/view.h"

namespace muster {

// One job that should run, in a call to Mechanism::rebalance.
struct Ask {
  JobId job;
  const JobSpec* spec = nullptr;
  const Placement* held = nullptr;  // Its current placement; nullptr for a new job.
  bool must_stay = false;           // A running job that must not move to other GPUs now.
  Rank rank;                        // In the order of the policy, now: its slope is 0.
  std::uint64_t salt = 0;           // For Demand::salt.
  // Nodes that a new placement must not use, because the last attempt failed there; see
  // State::avoided.
  std::span<const NodeId> avoid = {};
  Placement given;  // Output: empty if no place was found.
};

// Returns the demand for the guaranteed minimum: the larger of the proportional share and
// JobSpec::least. A mechanism may give a job less only if it can restore this amount later.
Demand fair_demand(const Ask& ask);

class Mechanism {
 public:
  virtual ~Mechanism() = default;

  // An adaptive mechanism changes the resources of running jobs when the set of jobs changes. Other
  // mechanisms only place() new jobs.
  virtual bool adaptive() const { return false; }

  // How CPU and memory are counted. kWholeCluster gives a bound, not a schedule.
  virtual Pooling pooling() const { return Pooling::kPerNode; }

  // Whether the profile matters: two jobs of equal GPU count and type may fit differently.
  virtual bool depends_on_profile() const { return false; }

  // Places one new job on free resources, or leaves ask.given empty. Does not change other jobs.
  virtual void place(const Cluster& cluster, const Placer& placer, const ResourceLedger& ledger,
                     Ask& ask) const = 0;

  // Adaptive mechanisms only: gives every ask its place and resources, and takes them from
  // `ledger`. On entry `ledger` counts what the asks hold as free. If there are more asks than
  // GPUs, some get nothing. A running job must not get slower than at its proportional share, or
  // get less than JobSpec::least.
  virtual void rebalance(const Cluster& cluster, const Placer& placer, ResourceLedger& ledger,
                         std::span<Ask> asks);
};

// Returns the ask of a job at view.now(), without `held` and `given`. `seed` is for random choices
// of the placement.
Ask ask_for(const View& view, JobId job, std::uint64_t seed);

// Returns how the engine must count CPU and memory for this mechanism and placement.
Pooling pooling_of(const Mechanism& mechanism, const Placer& placer);

// Returns why a job can never run, even alone on the empty cluster, or nullopt if it can.
std::optional<std::string> why_never_placed(const Cluster& cluster, const Mechanism& mechanism,
                                            const Placer& placer, const JobSpec& spec);

// Drafts the results of rebalance(). Releases all changed placements before it takes the new ones.
void draft_asks(Draft& draft, std::span<Ask> asks);

}  // namespace muster
