#pragma once

// Helpers for conformance tests: a cluster of different nodes, and all combinations of policy,
// mechanism and placement.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/mechanism/registry.h"
#include "engine/model/topology.h"
#include "engine/placement/registry.h"
#include "engine/policy/registry.h"
#include "engine/scheduler/scheduler.h"

namespace muster {

inline Topology large_and_small() {
  Topology topology;
  for (const char* const name : {"a0", "a1", "a2"}) {
    EXPECT_FALSE(topology.add_node(name, "r0", "gpu", {4, 12'000, 256'000, 250'000}));
  }
  for (const char* const name : {"b0", "b1"}) {
    EXPECT_FALSE(topology.add_node(name, "r1", "gpu", {8, 16'000, 512'000, 500'000}));
  }
  return topology;
}

struct Composition {
  std::string name;  // "srtf/tune/consolidate".
  PlannerOptions options;
  bool is_slow = false;  // Its mechanism is slow, so tests use fewer steps.
};

inline std::vector<Composition> all_compositions() {
  std::vector<Composition> all;
  for (const auto& mechanism : mechanisms()) {
    for (const auto& placement : placements()) {
      for (const auto& policy : policies()) {
        PlannerOptions options;
        options.parts = {std::string(policy.name), std::string(mechanism.name),
                         std::string(placement.name)};
        const std::string name =
            options.parts.policy + "/" + options.parts.mechanism + "/" + options.parts.placement;
        all.push_back({name, options, mechanism.name == "opt" || mechanism.name == "blend"});
      }
    }
  }
  return all;
}

}  // namespace muster
