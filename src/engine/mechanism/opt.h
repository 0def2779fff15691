#pragma once

// Synergy-Opt: the most that any mechanism could give. Program 1 takes the cluster as one server
// and chooses for every job a point of its profile so that the sum of speeds is greatest; program 2
// then spreads the jobs over servers, splitting few of them. What program 1 finds is an upper
// bound, not a schedule: CPU and memory are counted cluster-wide.

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <vector>

#include "engine/core/mechanism.h"

namespace muster {

// Program 1 for jobs that all run, on this much CPU and memory: the greatest sum of speeds, and the
// CPU and memory per GPU of each job at which it is reached. Jobs that differ only in name are one
// integer variable a choice, so the size does not grow with their number.
struct SuperServerPlan {
  double speed = 0;
  std::vector<Resources> per_gpu;  // In the order of the specs.
};
SuperServerPlan plan_super_server(const Cluster& cluster, std::span<const JobSpec* const> specs,
                                  std::int64_t cpu_milli, std::int64_t mem_mib);

class Opt final : public Mechanism {
 public:
  bool adaptive() const override { return true; }
  Pooling pooling() const override { return Pooling::kWholeCluster; }
  void place(const Cluster& cluster, const Placer& placer, const Books& books,
             Ask& ask) const override;
  void rebalance(const Cluster& cluster, const Placer& placer, Books& books, std::span<Ask> asks,
                 Fidelity fidelity) override;

 private:
  // Answers of program 1: rounds often ask the same again.
  struct Question {
    std::int64_t cpu_milli = 0, mem_mib = 0;
    // Profile, GPUs, GPU type or -1, CPU and memory a GPU at the least.
    std::vector<std::array<std::int64_t, 5>> jobs;
    friend auto operator<=>(const Question&, const Question&) = default;
  };
  const SuperServerPlan& plan_for(const Cluster& cluster, std::span<const JobSpec* const> specs,
                                  const Books::Room& room);

  std::map<Question, SuperServerPlan> answers_;
};

// Program 2: a server for each job, as the fractions of it there, such that GPUs, CPUs and memory
// fit. A vertex of the program splits at most three jobs a server. Empty if there is no solution.
// Row by row: job j on server s at [j * servers + s].
std::vector<double> spread_over_servers(const Cluster& cluster,
                                        std::span<const JobSpec* const> specs,
                                        std::span<const Resources> per_gpu);

}  // namespace muster
