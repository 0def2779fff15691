#pragma once

// Divides one node's CPU and memory among its jobs: one choice per job, so that the sum of speeds
// is maximal. Exact for up to 12 jobs with more than one choice, greedy above that. Results are
// cached, because the same mix of jobs occurs repeatedly.

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "engine/core/cluster.h"
#include "engine/mechanism/choices.h"

namespace muster {

// Class of jobs with equal profile, size and minimum on nodes of the same hardware; they have the
// same choices.
using JobKind = std::uint32_t;

class NodeSolver {
 public:
  // Call before each rebalance. Clears all data if the cluster has changed.
  void use(const Cluster& cluster);

  // Returns the kind of a job on nodes like `node`.
  JobKind kind(const JobSpec& spec, NodeId node);
  const std::vector<Choice>& choices(JobKind kind) const { return kinds_[kind].choices; }
  std::int32_t gpus(JobKind kind) const { return kinds_[kind].gpus; }

  // Returns the milli-CPUs that the whole job can use beyond its cheapest choice.
  std::int64_t appetite(JobKind kind) const;

  struct Answer {
    bool fits = false;                // False: not even the cheapest choices fit.
    double speed = 0;                 // Sum over the jobs.
    std::vector<std::uint8_t> picks;  // Index into choices() per job.
  };
  // Returns the best choices for these jobs, which must be sorted. The reference is valid until
  // use().
  const Answer& solve(std::int64_t cpu_milli, std::int64_t mem_mib, std::span<const JobKind> jobs);

  std::uint64_t solved() const { return solved_; }  // Number of cache misses.

 private:
  struct KindRow {
    std::int32_t gpus;
    std::vector<Choice> choices;
  };
  using Key = std::vector<std::int64_t>;

  std::uint32_t node_kind(NodeId node);
  Answer solve_exactly(std::int64_t cpu_milli, std::int64_t mem_mib,
                       std::span<const JobKind> jobs) const;
  Answer solve_greedily(std::int64_t cpu_milli, std::int64_t mem_mib,
                        std::span<const JobKind> jobs) const;

  const Cluster* cluster_ = nullptr;
  std::vector<NodeId> sorts_;  // One node of each hardware type.
  std::vector<KindRow> kinds_;
  std::map<std::tuple<std::uint32_t, std::int32_t, std::uint32_t, std::int64_t, std::int64_t>,
           JobKind>
      kind_index_;
  std::map<Key, Answer> answers_;
  Key key_;
  std::uint64_t solved_ = 0;
};

}  // namespace muster
