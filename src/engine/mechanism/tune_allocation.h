#pragma once

// One redistribution of CPU and memory by the rules of Synergy-Tune (tune.h): the jobs that should
// run, with their best demand and what they get in a scratch ledger. Tune decides in which order
// jobs are served and which of them are reduced.

#include <cstdint>
#include <span>
#include <vector>

#include "base/types/id.h"
#include "engine/core/mechanism.h"

namespace muster {

class TuneAllocation {
 public:
  // All arguments must outlive the object. `ledger` counts the resources of the asks as free.
  TuneAllocation(const Cluster& cluster, ResourceLedger& ledger, std::span<Ask> asks);

  Ask& ask(std::uint32_t i) { return asks_[i]; }
  const Ask& ask(std::uint32_t i) const { return asks_[i]; }
  const Demand& best(std::uint32_t i) const { return best_[i]; }
  Demand fair(std::uint32_t i) const { return fair_demand(asks_[i]); }
  // The demand that a job may enforce: its share, or its best demand if that is not larger in any
  // resource. A job that is as fast with less must leave the rest to jobs that gain from it.
  Demand modest(std::uint32_t i) const;

  // Whether the job has its share instead of its best demand.
  bool at_fair(std::uint32_t i) const { return at_fair_[i]; }
  void set_at_fair(std::uint32_t i, bool at_fair) { at_fair_[i] = at_fair; }

  // Takes the placement ask(i).given from the ledger.
  void settle(std::uint32_t i);
  // Releases it again.
  void release(std::uint32_t i);
  // Changes the CPU, memory and storage of a placed job on all its nodes, or on none.
  bool grow(std::uint32_t i, const Demand& demand);
  // Reduces a placed job to its share. Returns false if that releases nothing.
  bool reduce(std::uint32_t i);

  // Jobs that use the same CPUs and memory as `node`: those on it, or all jobs in a pool.
  const std::vector<std::uint32_t>& neighbors(NodeId node) const {
    return on_node_[ledger_->pooled() ? NodeId(0) : node];
  }
  // Resources that a placed job has on this node (or in the pool), and would have there with this
  // demand.
  Resources held_near(std::uint32_t i, NodeId node) const;
  Resources of_demand(std::uint32_t i, const Demand& demand, NodeId node) const;
  // CPU and memory near `node` that a placed job has above its share.
  Resources above_share(std::uint32_t i, NodeId node) const;
  // CPU and memory that are missing near `node` before the job could have `wanted` there.
  Resources lack(std::uint32_t i, NodeId node, const Resources& wanted) const;

 private:
  const Cluster* cluster_;
  ResourceLedger* ledger_;
  std::span<Ask> asks_;
  std::vector<Demand> best_;
  std::vector<bool> at_fair_;
  IdVector<NodeId, std::vector<std::uint32_t>> on_node_;
};

}  // namespace muster
