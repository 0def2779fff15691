#pragma once

// For tests of placements: servers with some free GPUs, and the places found on them as text.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/types/check.h"
#include "engine/core/placer.h"
#include "engine/core/world_testing.h"

namespace muster {

struct SceneServer {
  std::int32_t gpus;
  std::int32_t free;
  const char* rack = "r0";
  const char* type = "a";
  std::int64_t free_cpus = -1;  // In thousandths; -1: 1,000 per free GPU.
};

// A cluster of servers with 1,000 milli-CPUs and 100 MiB per GPU. The lowest GPUs of each server
// are taken.
struct Scene {
  explicit Scene(const std::vector<SceneServer>& servers, Pooling pooling = Pooling::kPerNode,
                 ProfileTable known = {})
      : topology(build(servers)),
        profiles(std::move(known)),
        cluster(topology, profiles),
        books(topology, pooling) {
    for (std::size_t i = 0; i < servers.size(); ++i) {
      const SceneServer& server = servers[i];
      const std::int64_t left = server.free_cpus < 0 ? 1000 * server.free : server.free_cpus;
      const std::int32_t taken = server.gpus - server.free;
      if (taken == 0) continue;
      books.take({NodeId(i), lowest_slots(books.free_slots(NodeId(i)), taken),
                  1000 * server.gpus - left, 100 * taken, 0});
    }
  }
  static Topology build(const std::vector<SceneServer>& servers) {
    Topology topology;
    for (const SceneServer& server : servers) {
      const Resources capacity = {server.gpus, 1000 * server.gpus, 100 * server.gpus, 0};
      MUSTER_CHECK(!topology.add_node("s", server.rack, server.type, capacity));
    }
    return topology;
  }

  // What `place(cluster, books, out)` found: "0:2 3:1" for two GPUs on server 0 and one on server
  // 3; "no" when there is no place.
  template <class Place>
  std::string found(const Demand& demand, Place place) const {
    Placement out = {{NodeId(0), 1, 2, 3, 4}};  // Left over from before; must not matter.
    const bool is_found = place(cluster, books, out);
    EXPECT_EQ(is_found, !out.empty());
    if (!is_found) return "no";
    EXPECT_TRUE(books.can_take(out));  // Which wants ascending servers, each once.
    EXPECT_EQ(total_of(out).gpus, demand.gpus);
    return placement_text(out);
  }

  Topology topology;
  ProfileTable profiles;
  Cluster cluster;
  Books books;
};

}  // namespace muster
