#pragma once

// Test helpers for mechanisms: a cluster with a few invented models, jobs of these models, and the
// total speed of a set of jobs.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/random.h"
#include "engine/core/mechanism.h"
#include "engine/model/profile.h"
#include "engine/model/topology.h"

namespace muster {

// Profiles that are sensitive to CPUs, memory, both, a little, or not at all; similar to measured
// ones.
inline ProfileTable made_up_profiles() {
  ProfileTable table;
  const auto add = [&](const char* name, std::vector<std::int64_t> cpus,
                       std::vector<std::int64_t> mem_gb, std::vector<double> speed) {
    SpeedMatrix matrix;
    for (const std::int64_t cpu : cpus) matrix.cpu_milli.push_back(cpu * 1000);
    // In units of half a GB.
    for (const std::int64_t mem : mem_gb) matrix.mem_mib.push_back(mem * 512);
    matrix.speed = std::move(speed);
    MUSTER_CHECK(table.add(Profile::matrix(name, matrix)).ok());
  };
  add("alexnet", {1, 3, 6, 9, 12}, {42, 125, 250},
      {0.1, 0.4, 0.4, 0.1, 1.0, 1.0, 0.1, 1.75, 1.8, 0.1, 2.0, 2.4, 0.1, 2.0, 2.94});
  add("res18", {1, 3, 4, 6, 9}, {42, 125}, {0.1, 0.3, 0.1, 1.0, 0.1, 1.3, 0.1, 1.75, 0.1, 2.4});
  add("res50", {1, 3, 4}, {42, 125}, {0.1, 0.35, 0.1, 1.0, 0.1, 1.15});
  add("m5", {3, 6}, {125, 250, 375}, {1.0, 1.0, 1.0, 1.5, 2.0, 2.5});
  add("gnmt", {1, 3}, {42, 125}, {1.0, 1.0, 1.0, 1.0});
  add("lstm", {1, 3}, {42, 125}, {1.0, 1.0, 1.0, 1.0});
  add("deepspeech", {1, 3}, {42, 125}, {0.2, 0.4, 0.3, 1.0});
  // Memory sensitivity unknown.
  MUSTER_CHECK(
      table.add(Profile::cpu_curve("measured", {500, 1500, 3000, 5000}, {0.2, 0.6, 1.0, 1.4}))
          .ok());
  return table;
}

struct MechanismWorld {
  explicit MechanismWorld(std::string_view shorthand)
      : topology(parse_cluster_shorthand(shorthand).value()),
        profiles(made_up_profiles()),
        cluster(topology, profiles) {}

  JobSpec job(std::string_view model, std::int32_t gpus) const {
    JobSpec spec;
    spec.gpus = gpus;
    spec.profile = profiles.find(model);
    return spec;
  }
  JobSpec random_job(Random& random, std::int32_t gpus) const {
    JobSpec spec;
    spec.gpus = gpus;
    spec.profile = ProfileId(1 + random.below(profiles.size() - 1));
    return spec;
  }
  // Jobs that fill the cluster: 70% with 1 GPU, 10% with 2, 15% with 4, 5% with 8. Two thirds are
  // insensitive, as in the default split.
  std::vector<JobSpec> full_load(std::uint64_t seed) const {
    Random random(seed);
    std::vector<JobSpec> specs;
    for (std::int32_t left = topology.total().gpus; left > 0;) {
      const double draw = random.uniform();
      const std::int32_t size = draw < 0.7 ? 1 : draw < 0.8 ? 2 : draw < 0.95 ? 4 : 8;
      const std::int32_t gpus = std::min(size, left);
      const bool language = random.uniform() < 0.67;
      specs.push_back(language ? job(random.below(2) == 0 ? "gnmt" : "lstm", gpus)
                               : random_job(random, gpus));
      left -= gpus;
    }
    return specs;
  }

  Topology topology;
  ProfileTable profiles;
  Cluster cluster;
};

inline std::vector<Ask> asks_for(const std::vector<JobSpec>& specs) {
  std::vector<Ask> asks;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    Ask ask;
    ask.job = JobId(i);
    ask.spec = &specs[i];
    ask.salt = i;
    asks.push_back(ask);
  }
  return asks;
}

inline double total_speed(const Cluster& cluster, const std::vector<Ask>& asks) {
  double sum = 0;
  for (const Ask& ask : asks) {
    if (!ask.given.empty()) sum += cluster.speed(*ask.spec, ask.given);
  }
  return sum;
}

}  // namespace muster
