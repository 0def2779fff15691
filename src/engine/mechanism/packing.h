#pragma once

// The assignment of jobs to nodes that Blend improves by exchanging jobs. Temporary data of one
// Blend::rebalance() call.

#include <cstdint>
#include <span>
#include <vector>

#include "base/types/random.h"
#include "engine/core/mechanism.h"
#include "engine/mechanism/node_solver.h"

namespace muster {

class Packing {
 public:
  // `asks[i].given` has the placement of each job that runs. `ledger` has the resources of all of
  // them free. Jobs on several nodes stay where they are.
  Packing(const Cluster& cluster, const ResourceLedger& ledger, std::span<Ask> asks,
          NodeSolver& solver);

  // Increases the sum of speeds: exchanges jobs between nodes, then repeatedly empties and refills
  // a few nodes. The effort is bounded and grows with the number of nodes and new jobs.
  void improve();

  // Whether the jobs of every node fit on it, according to the solver. Otherwise do not call
  // write().
  bool feasible() const;

  // Writes the placements and shares to Ask::given.
  void write();

 private:
  struct HistoryNode {
    NodeId node;
    std::int64_t cpu_milli = 0;  // For jobs that are only on this node.
    std::int64_t mem_mib = 0;
    std::int32_t free_gpus = 0;
    // Resources for the guaranteed minimums of all jobs that are only on this node.
    ResourceLedger::Room for_rights;
    std::vector<std::uint32_t> jobs;  // Indices of asks that are only on this node.
    double speed = 0;
    double best = 0;  // Speed if every job had its fastest choice.
    double missing() const { return best - speed; }
  };
  struct Exchange {
    std::vector<std::uint32_t> from_a, from_b;  // Asks that move to the other node.
    double gain = 0;
  };

  JobKind kind_on(std::uint32_t ask, const HistoryNode& node) {
    return solver_.kind(*asks_[ask].spec, node.node);
  }
  bool may_go(std::uint32_t ask, const HistoryNode& node) const {
    const std::optional<GpuTypeId> type = asks_[ask].spec->gpu_type;
    return (!type || cluster_.topology().node(node.node).gpu_type == *type) &&
           !is_among(asks_[ask].avoid, node.node);
  }
  std::int32_t gpus(std::span<const std::uint32_t> jobs) const;
  void reckon(HistoryNode& node);
  // Speed of a node without some jobs and with others; negative if they do not fit.
  double speed_with(const HistoryNode& node, std::span<const std::uint32_t> without,
                    std::span<const std::uint32_t> with);
  bool rights_fit(const HistoryNode& node, std::span<const std::uint32_t> without,
                  std::span<const std::uint32_t> with) const;
  void consider(const HistoryNode& a, const HistoryNode& b, std::vector<std::uint32_t> from_a,
                std::vector<std::uint32_t> from_b, Exchange& best);
  // One ask of each kind on the node; prefers jobs that do not run yet.
  std::vector<std::uint32_t> samples(const HistoryNode& node);
  // Jobs of the node with exactly `gpus` GPUs in total and fewer each. Prefers jobs that can use
  // the least CPU (kModest), the most (kHungry), or a mix.
  enum class Pick : std::uint8_t { kModest, kHungry, kMixed };
  std::vector<std::uint32_t> bundle(const HistoryNode& node, std::int32_t gpus, Pick pick);
  bool exchange_best(HistoryNode& a, HistoryNode& b);
  void trade();
  // Empties some nodes and refills them in another order. Returns true if that was better;
  // otherwise restores them.
  bool reshuffle(std::span<const std::uint32_t> picked, Random& random);
  void shake();
  double move_cost(std::uint32_t ask, const HistoryNode& node) const;
  void raise_spanning();

  const Cluster& cluster_;
  std::span<Ask> asks_;
  NodeSolver& solver_;
  bool pooled_;
  bool particular_ = false;  // A job requests CPU or memory.
  std::vector<HistoryNode> nodes_;
  std::vector<std::uint32_t> spanning_;      // Asks on several nodes.
  std::vector<ResourceLedger::Room> spare_;  // Free resources by node after write().
  std::vector<SlotMask> usable_;             // By node: GPU slots that these jobs may use.
  std::vector<JobKind> kinds_;               // Scratch buffer.
  std::uint64_t trials_ = 0;
  std::uint64_t most_trials_ = 0;
};

}  // namespace muster
