#include "engine/mechanism/choices.h"

#include <algorithm>
#include <utility>

#include "engine/mechanism/demand.h"

namespace muster {

namespace {

constexpr std::size_t kMaxChoices = 48;

std::vector<std::int64_t> cpu_candidates(const Profile& profile, std::int64_t most,
                                         ChoiceGrid grid) {
  std::vector<std::int64_t> points = profile.cpu_points();
  if (grid == ChoiceGrid::kFine) {
    const std::int64_t top = std::min(most, points.back());
    for (std::int64_t cpu = 1000; cpu < top; cpu += 1000) points.push_back(cpu);
    points.push_back(top);
  }
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());
  return points;
}

// Returns the non-dominated choices, ascending by speed, at most kMaxChoices.
std::vector<Choice> worth_giving(std::vector<Choice> all) {
  // Fastest first, then cheapest. With this order, only kept choices can dominate a later one.
  std::sort(all.begin(), all.end(), [](const Choice& a, const Choice& b) {
    if (a.speed != b.speed) return a.speed > b.speed;
    if (a.cpu_milli != b.cpu_milli) return a.cpu_milli < b.cpu_milli;
    return a.mem_mib < b.mem_mib;
  });
  std::vector<Choice> kept;
  for (const Choice& choice : all) {
    const bool beaten = std::any_of(kept.begin(), kept.end(), [&](const Choice& other) {
      return other.cpu_milli <= choice.cpu_milli && other.mem_mib <= choice.mem_mib;
    });
    if (!beaten) kept.push_back(choice);
  }
  std::reverse(kept.begin(), kept.end());
  if (kept.size() > kMaxChoices) {  // The slowest stays, because some job may need it.
    std::vector<Choice> thinned;
    for (std::size_t i = 0; i < kMaxChoices; ++i) {
      thinned.push_back(kept[i * (kept.size() - 1) / (kMaxChoices - 1)]);
    }
    kept = std::move(thinned);
  }
  return kept;
}

}  // namespace

std::vector<Choice> choices_for(const Cluster& cluster, const JobSpec& spec, NodeId node,
                                const Resources& fair, ChoiceGrid grid) {
  const Profile& profile = cluster.profile(spec);
  const Resources& capacity = cluster.topology().node(node).capacity;
  const double factor = cluster.gpu_factor(spec.profile, cluster.topology().node(node).gpu_type);
  const double floor = profile.speed(fair);
  // A job uses each of its nodes in proportion to its GPUs there. At most it has a node alone.
  const std::int32_t gpus_here = std::min(spec.gpus, capacity.gpus);
  const std::int64_t most_cpu = capacity.cpu_milli / gpus_here;
  const std::int64_t most_mem = capacity.mem_mib / gpus_here;

  std::vector<Choice> all;
  const auto consider = [&](std::int64_t cpu, std::int64_t mem) {
    cpu = std::max(cpu, spec.least.cpu_milli);
    mem = std::max(mem, spec.least.mem_mib);
    const double speed = profile.speed(cpu, mem, fair.storage_kbps);
    if (speed >= floor) all.push_back({cpu, mem, speed * factor});
  };
  consider(fair.cpu_milli, fair.mem_mib);
  const auto possible = [&](std::int64_t cpu, std::int64_t mem) {
    if (std::max(cpu, spec.least.cpu_milli) <= most_cpu &&
        std::max(mem, spec.least.mem_mib) <= most_mem) {
      consider(cpu, mem);
    }
  };
  if (profile.sensitivity_known()) {
    Ask ask;
    ask.spec = &spec;
    const Demand best = best_demand(cluster, ask);
    if (best.per_gpu) possible(best.per_gpu->cpu_milli, best.per_gpu->mem_mib);
    for (const std::int64_t cpu : cpu_candidates(profile, most_cpu, grid)) {
      if (!profile.memory_known()) {
        possible(cpu, fair.mem_mib);
        continue;
      }
      for (const std::int64_t mem : profile.mem_points()) possible(cpu, mem);
    }
  }
  return worth_giving(std::move(all));
}

}  // namespace muster
