#pragma once

// The best use of one server's CPU and memory by the jobs on it: one choice each, so that the sum
// of speeds is greatest. Exact for the handful of jobs that have a choice at all; answers are kept,
// since servers with the same mix of jobs come up again and again.

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "engine/core/cluster.h"
#include "engine/mechanism/choices.h"

namespace muster {

// Jobs alike in profile, size and what they ask for at the least, on servers of one sort: they have
// the same choices.
using JobKind = std::uint32_t;

class ServerSolver {
 public:
  // Forgets everything when the cluster is another one.
  void use(const Cluster& cluster);

  // The kind of a job on servers like `node`.
  JobKind kind(const JobSpec& spec, NodeId node);
  const std::vector<Choice>& choices(JobKind kind) const { return kinds_[kind].choices; }
  std::int32_t gpus(JobKind kind) const { return kinds_[kind].gpus; }

  // How much CPU the job could use beyond what it must have, all its GPUs together.
  std::int64_t appetite(JobKind kind) const;

  struct Answer {
    bool fits = false;
    double speed = 0;                 // Sum over the jobs.
    std::vector<std::uint8_t> picks;  // Index into choices(), for each job as sorted by kind.
  };
  // The jobs must be sorted. Valid until the next call of use().
  const Answer& solve(std::int64_t cpu_milli, std::int64_t mem_mib, std::span<const JobKind> jobs);

  std::uint64_t solved() const { return solved_; }  // Answers worked out and not found again.

 private:
  struct KindRow {
    std::int32_t gpus;
    std::vector<Choice> choices;
  };
  using Key = std::vector<std::int64_t>;

  std::uint32_t server_sort(NodeId node);
  Answer solve_exactly(std::int64_t cpu_milli, std::int64_t mem_mib,
                       std::span<const JobKind> jobs) const;
  Answer solve_greedily(std::int64_t cpu_milli, std::int64_t mem_mib,
                        std::span<const JobKind> jobs) const;

  const Cluster* cluster_ = nullptr;
  std::vector<NodeId> sorts_;  // One server of each sort.
  std::vector<KindRow> kinds_;
  std::map<std::tuple<std::uint32_t, std::int32_t, std::uint32_t, std::int64_t, std::int64_t>,
           JobKind>
      kind_index_;
  std::map<Key, Answer> answers_;
  Key key_;
  std::uint64_t solved_ = 0;
};

}  // namespace muster
