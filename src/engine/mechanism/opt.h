#pragma once

// Synergy-Opt: an upper bound for all mechanisms. Program 1 treats the cluster as one node and
// chooses a profile point for every job so that the sum of speeds is maximal. Program 2 then
// spreads the jobs over nodes and splits few of them. The result is a bound, not a schedule: CPU
// and memory are counted for the whole cluster.

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <vector>

#include "engine/core/mechanism.h"

namespace muster {

// Program 1: the maximum sum of speeds of jobs that all run with this CPU and memory, and the CPU
// and memory per GPU of each job. Equal jobs share one integer variable per choice, so the size
// does not grow with their number.
struct CombinedNodePlan {
  double speed = 0;
  std::vector<Resources> per_gpu;  // One per spec, in order.
};
CombinedNodePlan plan_combined_node(const Cluster& cluster, std::span<const JobSpec* const> specs,
                                    std::int64_t cpu_milli, std::int64_t mem_mib);

class Opt final : public Mechanism {
 public:
  bool adaptive() const override { return true; }
  Pooling pooling() const override { return Pooling::kWholeCluster; }
  void place(const Cluster& cluster, const Placer& placer, const ResourceLedger& ledger,
             Ask& ask) const override;
  void rebalance(const Cluster& cluster, const Placer& placer, ResourceLedger& ledger,
                 std::span<Ask> asks) override;

 private:
  // Cache key of program 1; rounds often repeat the same problem.
  struct Question {
    std::int64_t cpu_milli = 0, mem_mib = 0;
    // Profile, GPUs, GPU type or -1, minimum CPU and memory per GPU.
    std::vector<std::array<std::int64_t, 5>> jobs;
    friend auto operator<=>(const Question&, const Question&) = default;
  };
  const CombinedNodePlan& plan_for(const Cluster& cluster, std::span<const JobSpec* const> specs,
                                   const ResourceLedger::Room& room);

  std::map<Question, CombinedNodePlan> answers_;
};

// Program 2: returns the fraction of each job on each node, so that GPUs, CPUs and memory fit. The
// solution splits at most three jobs per node. Empty if there is no solution. Row-major: job j on
// node s is at [j * nodes + s].
std::vector<double> spread_over_nodes(const Cluster& cluster, std::span<const JobSpec* const> specs,
                                      std::span<const Resources> per_gpu);

}  // namespace muster
