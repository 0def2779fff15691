#pragma once

// For tests of placements: nodes with some free GPUs, and the resulting placements as text.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/types/check.h"
#include "engine/core/placer.h"
#include "engine/core/world_testing.h"

namespace muster {

struct SceneNode {
  std::int32_t gpus;
  std::int32_t free;
  const char* rack = "r0";
  const char* type = "a";
  std::int64_t free_cpus = -1;  // In thousandths; -1: 1,000 per free GPU.
};

// A cluster of nodes with 1,000 milli-CPUs and 100 MiB per GPU. The lowest GPUs of each node are
// taken.
struct Scene {
  explicit Scene(const std::vector<SceneNode>& nodes, Pooling pooling = Pooling::kPerNode,
                 ProfileTable known = {})
      : topology(build(nodes)),
        profiles(std::move(known)),
        cluster(topology, profiles),
        ledger(topology, pooling) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const SceneNode& node = nodes[i];
      const std::int64_t left = node.free_cpus < 0 ? 1000 * node.free : node.free_cpus;
      const std::int32_t taken = node.gpus - node.free;
      if (taken == 0) continue;
      ledger.take({NodeId(i), lowest_slots(ledger.free_slots(NodeId(i)), taken),
                   1000 * node.gpus - left, 100 * taken, 0});
    }
  }
  static Topology build(const std::vector<SceneNode>& nodes) {
    Topology topology;
    for (const SceneNode& node : nodes) {
      const Resources capacity = {node.gpus, 1000 * node.gpus, 100 * node.gpus, 0};
      MUSTER_CHECK(!topology.add_node("s", node.rack, node.type, capacity));
    }
    return topology;
  }

  // Returns the result of `place(cluster, ledger, out)`: "0:2 3:1" for two GPUs on node 0 and one
  // on node 3; "no" if there is no place.
  template <class Place>
  std::string found(const Demand& demand, Place place) const {
    Placement out = {{NodeId(0), 1, 2, 3, 4}};  // Old content, which must not matter.
    const bool is_found = place(cluster, ledger, out);
    EXPECT_EQ(is_found, !out.empty());
    if (!is_found) return "no";
    EXPECT_TRUE(ledger.can_take(out));  // Requires ascending, unique nodes.
    EXPECT_EQ(total_of(out).gpus, demand.gpus);
    return placement_text(out);
  }

  Topology topology;
  ProfileTable profiles;
  Cluster cluster;
  ResourceLedger ledger;
};

}  // namespace muster
