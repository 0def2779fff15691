#include "engine/planner/locality.h"

#include <algorithm>
#include <functional>
#include <tuple>

namespace muster {

namespace {

struct Server {
  NodeId node;
  std::int32_t free;      // GPUs it could serve of this demand now.
  std::int32_t capacity;  // And when empty.
};

struct Rack {
  std::int32_t free = 0;
  std::int32_t capacity = 0;
  std::vector<Server> servers;  // Most free first.
};

// Racks by free GPUs, the most first.
std::vector<Rack> racks_of(const Cluster& cluster, const Books& books, const Demand& demand) {
  const Topology& topology = cluster.topology();
  std::vector<Rack> racks(topology.rack_count());
  for (std::size_t i = 0; i < topology.node_count(); ++i) {
    const NodeId node(i);
    if (!demand.allows(cluster, node)) continue;
    Rack& rack = racks[topology.node(node).rack.index()];
    const std::int32_t free = books.gpus_with(node, demand.appetite(cluster, node));
    rack.servers.push_back({node, free, topology.node(node).capacity.gpus});
    rack.free += free;
    rack.capacity += topology.node(node).capacity.gpus;
  }
  for (Rack& rack : racks) {
    std::stable_sort(rack.servers.begin(), rack.servers.end(),
                     [](const Server& a, const Server& b) { return a.free > b.free; });
  }
  std::stable_sort(racks.begin(), racks.end(),
                   [](const Rack& a, const Rack& b) { return a.free > b.free; });
  return racks;
}

// The fewest servers that could hold so many GPUs if they were empty.
std::size_t fewest(const Rack& rack, std::int32_t gpus) {
  std::vector<std::int32_t> sizes;
  for (const Server& server : rack.servers) sizes.push_back(server.capacity);
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  std::size_t count = 0;
  while (gpus > 0 && count < sizes.size()) gpus -= sizes[count++];
  return gpus > 0 ? 0 : count;
}

// The first `count` servers if together they have enough free.
bool take_first(const Cluster& cluster, const Books& books, const Demand& demand,
                std::span<const Server> servers, Placement& out) {
  std::int32_t left = demand.gpus;
  for (const Server& server : servers) {
    const std::int32_t here = std::min(left, server.free);
    if (here == 0) continue;
    out.push_back(make_share(cluster, books, demand, server.node, here));
    left -= here;
    if (left == 0) break;
  }
  if (left > 0 || !demand.narrow_enough(out)) {
    out.clear();
    return false;
  }
  std::sort(out.begin(), out.end(), [](const Share& a, const Share& b) { return a.node < b.node; });
  return true;
}

// One GPU: on the server that has the fewest left.
bool place_single(const Cluster& cluster, const Books& books, const Demand& demand,
                  Placement& out) {
  for (std::int32_t free = 1; free <= cluster.topology().largest_node_gpus(); ++free) {
    for (NodeId node = books.next_with_exactly(free, NodeId(0)); node != books.no_node();
         node = books.next_with_exactly(free, NodeId(node.index() + 1))) {
      if (!demand.allows(cluster, node)) continue;
      if (!books.can_serve(node, demand.appetite(cluster, node), 1)) continue;
      out.push_back(make_share(cluster, books, demand, node, 1));
      return true;
    }
  }
  return false;
}

}  // namespace

bool place_locally(const Cluster& cluster, const Books& books, const Demand& demand,
                   Locality locality, Placement& out) {
  out.clear();
  if (demand.gpus > books.free_gpus()) return false;
  if (demand.gpus == 1) return place_single(cluster, books, demand, out);
  const std::vector<Rack> racks = racks_of(cluster, books, demand);
  if (locality == Locality::kAnywhere) {
    std::vector<Server> all;
    for (const Rack& rack : racks) {
      all.insert(all.end(), rack.servers.begin(), rack.servers.end());
    }
    if (demand.spread > 0) {  // On few servers rather than in few racks.
      std::stable_sort(all.begin(), all.end(),
                       [](const Server& a, const Server& b) { return a.free > b.free; });
    }
    return take_first(cluster, books, demand, all, out);
  }
  for (const Rack& rack : racks) {
    if (rack.free < demand.gpus) break;
    const std::size_t count =
        locality == Locality::kOneRack ? rack.servers.size() : fewest(rack, demand.gpus);
    const std::span<const Server> servers(rack.servers.data(), count);
    if (take_first(cluster, books, demand, servers, out)) return true;
  }
  return false;
}

std::vector<NodeId> servers_to_ask(const Cluster& cluster, const Books& books, const Demand& demand,
                                   Locality locality) {
  std::vector<Rack> racks = racks_of(cluster, books, demand);
  std::vector<NodeId> out;
  if (locality == Locality::kAnywhere) {
    // As many as could hold it twice over, lest one stubborn neighbour hold everything up.
    std::int32_t capacity = 0;
    for (const Rack& rack : racks) {
      for (const Server& server : rack.servers) {
        if (capacity >= 2 * demand.gpus) return out;
        out.push_back(server.node);
        capacity += server.capacity;
      }
    }
    return out;
  }
  for (const Rack& rack : racks) {
    if (rack.capacity < demand.gpus) continue;
    std::size_t count = fewest(rack, demand.gpus);
    if (locality == Locality::kOneRack) count = std::min(2 * count, rack.servers.size());
    // The freest first, but never so small that those after it could not hold the rest.
    std::vector<Server> servers = rack.servers;
    std::int32_t left = demand.gpus;
    while (out.size() < count) {
      const auto fits = [&](const Server& server) {
        std::vector<std::int32_t> others;
        for (const Server& other : servers) {
          if (other.node != server.node) others.push_back(other.capacity);
        }
        std::sort(others.begin(), others.end(), std::greater<>());
        std::int32_t most = server.capacity;
        for (std::size_t i = 0; i + 1 < count - out.size(); ++i) most += others[i];
        return most >= left;
      };
      const auto next = std::find_if(servers.begin(), servers.end(), fits);
      left -= next->capacity;
      out.push_back(next->node);
      servers.erase(next);
    }
    return out;
  }
  return out;
}

bool place_on(const Cluster& cluster, const Books& books, const Demand& demand,
              std::span<const NodeId> servers, Placement& out) {
  out.clear();
  std::vector<Server> asked;
  for (const NodeId node : servers) {
    asked.push_back({node, books.gpus_with(node, demand.appetite(cluster, node)), 0});
  }
  std::stable_sort(asked.begin(), asked.end(),
                   [](const Server& a, const Server& b) { return a.free > b.free; });
  return take_first(cluster, books, demand, asked, out);
}

}  // namespace muster
