#pragma once

// Test helper: a small cluster with an engine and any planner; every order takes effect
// immediately.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/engine.h"
#include "engine/core/world_testing.h"
#include "engine/mechanism/registry.h"
#include "engine/placement/registry.h"
#include "engine/policy/registry.h"
#include "engine/scheduler/scheduler.h"

namespace muster {

struct World {
  explicit World(const PlannerOptions& wanted, const char* nodes = "3x4")
      : topology(parse_cluster_shorthand(nodes).value()), cluster(topology, profiles) {
    MadePlanner made = make_planner(cluster, wanted);
    EngineOptions options;
    options.estimates = EstimateSource::Kind::kUser;
    options.pooling = made.pooling;
    engine = std::make_unique<Engine>(cluster, std::move(made.planner), options);
  }

  void step(std::int64_t second, std::vector<Event> events) {
    carry_out(*engine, Instant::at(Duration::seconds(second)), std::move(events),
              [](const Action&) {});
  }
  const Job& job(std::size_t id) const { return engine->state().jobs[JobId(id)]; }
  bool runs(std::size_t id) const { return job(id).state == JobState::kPlaced; }

  Topology topology;
  ProfileTable profiles;
  Cluster cluster;
  std::unique_ptr<Engine> engine;
};

inline Event submit(std::int32_t gpus, std::int64_t estimate, std::int32_t priority = 0) {
  JobSpec spec;
  spec.gpus = gpus;
  spec.estimate = Duration::seconds(estimate);
  spec.priority = priority;
  return JobSubmitted{spec};
}

// All policies, mechanisms and placements, and Philly.
inline std::vector<PlannerOptions> all_parts() {
  std::vector<PlannerOptions> all;
  for (const auto& policy : policies()) {
    for (const auto& mechanism : mechanisms()) {
      for (const auto& placement : placements()) {
        if (mechanism.name != "proportional" && placement.name != "consolidate") continue;
        PlannerOptions options;
        options.parts = {std::string(policy.name), std::string(mechanism.name),
                         std::string(placement.name)};
        all.push_back(options);
      }
    }
  }
  PlannerOptions philly;
  philly.whole = PhillyOptions{};
  all.push_back(philly);
  return all;
}

inline std::string name_of_case(const testing::TestParamInfo<PlannerOptions>& info) {
  const SchedulerParts& parts = info.param.parts;
  constexpr const char* kWhole[] = {"", "philly", "gandiva", "optimus"};
  std::string name = info.param.whole.index() != 0
                         ? kWhole[info.param.whole.index()]
                         : parts.policy + "_" + parts.mechanism + "_" + parts.placement;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace muster
