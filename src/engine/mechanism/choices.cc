#include "engine/mechanism/choices.h"

#include <algorithm>
#include <utility>

#include "engine/mechanism/demand.h"

namespace muster {

namespace {

constexpr std::size_t kMostChoices = 48;

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

// The choices that no other one beats in all respects, ascending by speed, at most kMostChoices.
std::vector<Choice> worth_giving(std::vector<Choice> all) {
  // Fastest first; of equal speed the cheaper. Then keep what nothing kept so far dominates.
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
  if (kept.size() > kMostChoices) {  // The slowest stay, since somebody may have to take them.
    std::vector<Choice> thinned;
    for (std::size_t i = 0; i < kMostChoices; ++i) {
      thinned.push_back(kept[i * (kept.size() - 1) / (kMostChoices - 1)]);
    }
    kept = std::move(thinned);
  }
  return kept;
}

}  // namespace

std::vector<Choice> choices_for(const Cluster& cluster, const JobSpec& spec, NodeId node,
                                const Resources& fair, ChoiceGrid grid) {
  const Profile& profile = cluster.profile(spec);
  const Resources& server = cluster.topology().node(node).capacity;
  const double factor = cluster.gpu_factor(spec.profile, cluster.topology().node(node).gpu_type);
  const double floor = profile.speed(fair);
  // A job on several servers draws on each by its GPUs there; at most it has them to itself.
  const std::int32_t crowd = std::min(spec.gpus, server.gpus);
  const std::int64_t most_cpu = server.cpu_milli / crowd;
  const std::int64_t most_mem = server.mem_mib / crowd;

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
