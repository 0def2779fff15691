#include "engine/mechanism/node_solver.h"

#include <algorithm>

#include "base/types/check.h"

namespace muster {

namespace {

constexpr std::size_t kMaxNodeAnswers = 200'000;  // About 30 MB; then the cache is cleared.
// Maximum jobs with more than one choice for the exact solver.
constexpr std::size_t kMaxExact = 12;
constexpr std::size_t kMaxStates = 160;  // Maximum number of partial solutions; rarely reached.

struct SolverState {
  std::int64_t cpu;
  std::int64_t mem;
  double speed;
  std::uint32_t parent;
  std::uint8_t pick;
};

// Adds the non-dominated candidates (by CPU, memory and speed) to `kept`, fastest first.
void keep_unbeaten(std::vector<SolverState>& candidates, std::vector<SolverState>& kept) {
  std::sort(candidates.begin(), candidates.end(), [](const SolverState& a, const SolverState& b) {
    if (a.speed != b.speed) return a.speed > b.speed;
    if (a.cpu != b.cpu) return a.cpu < b.cpu;
    if (a.mem != b.mem) return a.mem < b.mem;
    return std::tie(a.parent, a.pick) < std::tie(b.parent, b.pick);
  });
  for (const SolverState& state : candidates) {
    const bool beaten = std::any_of(kept.begin(), kept.end(), [&](const SolverState& other) {
      return other.cpu <= state.cpu && other.mem <= state.mem;
    });
    if (beaten) continue;
    if (kept.size() < kMaxStates) {
      kept.push_back(state);
    } else if (state.cpu < kept.back().cpu || state.mem < kept.back().mem) {
      kept.back() = state;  // Keep the cheapest, so that the last jobs still fit.
    }
  }
}

}  // namespace

void NodeSolver::use(const Cluster& cluster) {
  if (cluster_ == &cluster) {
    if (answers_.size() > kMaxNodeAnswers) answers_.clear();
    return;
  }
  cluster_ = &cluster;
  sorts_.clear();
  kinds_.clear();
  kind_index_.clear();
  answers_.clear();
}

std::uint32_t NodeSolver::node_kind(NodeId node) {
  const Topology& topology = cluster_->topology();
  for (std::size_t i = 0; i < sorts_.size(); ++i) {
    if (topology.node(sorts_[i]).capacity == topology.node(node).capacity &&
        topology.node(sorts_[i]).gpu_type == topology.node(node).gpu_type) {
      return static_cast<std::uint32_t>(i);
    }
  }
  sorts_.push_back(node);
  return static_cast<std::uint32_t>(sorts_.size() - 1);
}

JobKind NodeSolver::kind(const JobSpec& spec, NodeId node) {
  const std::uint32_t sort = node_kind(node);
  const auto [found, fresh] = kind_index_.try_emplace(
      {spec.profile.index(), spec.gpus, sort, spec.least.cpu_milli, spec.least.mem_mib},
      static_cast<JobKind>(kinds_.size()));
  if (fresh) {
    kinds_.push_back({spec.gpus, choices_for(*cluster_, spec, sorts_[sort], ChoiceGrid::kFine)});
  }
  return found->second;
}

std::int64_t NodeSolver::appetite(JobKind kind) const {
  const KindRow& row = kinds_[kind];
  return (row.choices.back().cpu_milli - row.choices.front().cpu_milli) * row.gpus;
}

const NodeSolver::Answer& NodeSolver::solve(std::int64_t cpu_milli, std::int64_t mem_mib,
                                            std::span<const JobKind> jobs) {
  key_.assign({cpu_milli, mem_mib});
  for (const JobKind job : jobs) key_.push_back(job);
  const auto found = answers_.find(key_);
  if (found != answers_.end()) return found->second;
  ++solved_;
  std::size_t with_choice = 0;
  for (const JobKind job : jobs) with_choice += kinds_[job].choices.size() > 1 ? 1 : 0;
  Answer answer = with_choice <= kMaxExact ? solve_exactly(cpu_milli, mem_mib, jobs)
                                           : solve_greedily(cpu_milli, mem_mib, jobs);
  return answers_.emplace(key_, std::move(answer)).first->second;
}

// Dynamic programming over the jobs; keeps all partial solutions that are not dominated in CPU,
// memory and speed.
NodeSolver::Answer NodeSolver::solve_exactly(std::int64_t cpu_milli, std::int64_t mem_mib,
                                             std::span<const JobKind> jobs) const {
  Answer answer;
  std::vector<std::vector<SolverState>> layers(jobs.size() + 1);
  layers[0].push_back({0, 0, 0.0, 0, 0});
  // Minimum needs of the remaining jobs, to drop infeasible states early.
  std::vector<std::int64_t> least_cpu(jobs.size() + 1), least_mem(jobs.size() + 1);
  for (std::size_t i = jobs.size(); i-- > 0;) {
    const KindRow& row = kinds_[jobs[i]];
    std::int64_t cpu = row.choices.front().cpu_milli;
    std::int64_t mem = row.choices.front().mem_mib;
    for (const Choice& choice : row.choices) {
      cpu = std::min(cpu, choice.cpu_milli);
      mem = std::min(mem, choice.mem_mib);
    }
    least_cpu[i] = least_cpu[i + 1] + cpu * row.gpus;
    least_mem[i] = least_mem[i + 1] + mem * row.gpus;
  }
  std::vector<SolverState> candidates;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const KindRow& row = kinds_[jobs[i]];
    candidates.clear();
    for (std::size_t s = 0; s < layers[i].size(); ++s) {
      const SolverState& state = layers[i][s];
      for (std::size_t pick = 0; pick < row.choices.size(); ++pick) {
        const Choice& choice = row.choices[pick];
        const std::int64_t cpu = state.cpu + choice.cpu_milli * row.gpus;
        const std::int64_t mem = state.mem + choice.mem_mib * row.gpus;
        if (cpu + least_cpu[i + 1] > cpu_milli || mem + least_mem[i + 1] > mem_mib) continue;
        candidates.push_back({cpu, mem, state.speed + choice.speed, static_cast<std::uint32_t>(s),
                              static_cast<std::uint8_t>(pick)});
      }
    }
    keep_unbeaten(candidates, layers[i + 1]);
    if (layers[i + 1].empty()) return answer;
  }
  answer.fits = true;
  answer.picks.resize(jobs.size());
  std::size_t at = 0;  // The first state is the fastest.
  answer.speed = layers.back()[0].speed;
  for (std::size_t i = jobs.size(); i-- > 0;) {
    const SolverState& state = layers[i + 1][at];
    answer.picks[i] = state.pick;
    at = state.parent;
  }
  return answer;
}

// For nodes with many jobs and for pooled clusters: starts with the cheapest choices and repeatedly
// takes the step with the most speed per resource.
NodeSolver::Answer NodeSolver::solve_greedily(std::int64_t cpu_milli, std::int64_t mem_mib,
                                              std::span<const JobKind> jobs) const {
  Answer answer;
  answer.picks.assign(jobs.size(), 0);
  std::int64_t cpu = cpu_milli;
  std::int64_t mem = mem_mib;
  for (const JobKind job : jobs) {
    const KindRow& row = kinds_[job];
    cpu -= row.choices[0].cpu_milli * row.gpus;
    mem -= row.choices[0].mem_mib * row.gpus;
    answer.speed += row.choices[0].speed;
  }
  if (cpu < 0 || mem < 0) return answer;
  answer.fits = true;
  while (true) {
    std::size_t best_job = jobs.size();
    std::uint8_t best_pick = 0;
    double best_ratio = 0;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (i > 0 && jobs[i] == jobs[i - 1] && answer.picks[i] == answer.picks[i - 1]) continue;
      const KindRow& row = kinds_[jobs[i]];
      const Choice& now = row.choices[answer.picks[i]];
      for (std::size_t pick = answer.picks[i] + 1u; pick < row.choices.size(); ++pick) {
        const Choice& next = row.choices[pick];
        const std::int64_t more_cpu = (next.cpu_milli - now.cpu_milli) * row.gpus;
        const std::int64_t more_mem = (next.mem_mib - now.mem_mib) * row.gpus;
        if (more_cpu > cpu || more_mem > mem) continue;
        const double cost = static_cast<double>(std::max<std::int64_t>(0, more_cpu)) /
                                static_cast<double>(cpu_milli) +
                            static_cast<double>(std::max<std::int64_t>(0, more_mem)) /
                                static_cast<double>(mem_mib) +
                            1e-12;
        const double ratio = (next.speed - now.speed) / cost;
        if (ratio > best_ratio) {
          best_ratio = ratio;
          best_job = i;
          best_pick = static_cast<std::uint8_t>(pick);
        }
      }
    }
    if (best_job == jobs.size()) return answer;
    const KindRow& row = kinds_[jobs[best_job]];
    const Choice& from = row.choices[answer.picks[best_job]];
    const Choice& to = row.choices[best_pick];
    cpu -= (to.cpu_milli - from.cpu_milli) * row.gpus;
    mem -= (to.mem_mib - from.mem_mib) * row.gpus;
    answer.speed += to.speed - from.speed;
    answer.picks[best_job] = best_pick;
  }
}

}  // namespace muster
