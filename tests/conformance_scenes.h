#pragma once

// For conformance tests: a cluster of unlike servers.

#include <gtest/gtest.h>

#include "model/topology.h"

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

}  // namespace muster
