#include "engine/planner/locality.h"

#include <algorithm>
#include <functional>
#include <tuple>

namespace muster {

namespace {

struct HistoryNode {
  NodeId node;
  std::int32_t free;      // GPUs of this demand that it can serve now.
  std::int32_t capacity;  // GPUs of the node.
};

struct Rack {
  std::int32_t free = 0;
  std::int32_t capacity = 0;
  std::vector<HistoryNode> nodes;  // Nodes with the most free GPUs first.
};

// Returns the racks, those with the most free GPUs first.
std::vector<Rack> racks_of(const Cluster& cluster, const ResourceLedger& ledger,
                           const Demand& demand) {
  const Topology& topology = cluster.topology();
  std::vector<Rack> racks(topology.rack_count());
  for (std::size_t i = 0; i < topology.node_count(); ++i) {
    const NodeId node(i);
    if (!demand.allows(cluster, node)) continue;
    Rack& rack = racks[topology.node(node).rack.index()];
    const std::int32_t free = ledger.gpus_with(node, demand.appetite(cluster, node));
    rack.nodes.push_back({node, free, topology.node(node).capacity.gpus});
    rack.free += free;
    rack.capacity += topology.node(node).capacity.gpus;
  }
  for (Rack& rack : racks) {
    std::stable_sort(rack.nodes.begin(), rack.nodes.end(),
                     [](const HistoryNode& a, const HistoryNode& b) { return a.free > b.free; });
  }
  std::stable_sort(racks.begin(), racks.end(),
                   [](const Rack& a, const Rack& b) { return a.free > b.free; });
  return racks;
}

// Minimum number of idle nodes that can hold `gpus` GPUs; 0 if the rack is too small.
std::size_t fewest(const Rack& rack, std::int32_t gpus) {
  std::vector<std::int32_t> sizes;
  for (const HistoryNode& node : rack.nodes) sizes.push_back(node.capacity);
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  std::size_t count = 0;
  while (gpus > 0 && count < sizes.size()) gpus -= sizes[count++];
  return gpus > 0 ? 0 : count;
}

// Fills `out` from the given nodes in order, if together they have enough free GPUs.
bool take_first(const Cluster& cluster, const ResourceLedger& ledger, const Demand& demand,
                std::span<const HistoryNode> nodes, Placement& out) {
  std::int32_t left = demand.gpus;
  for (const HistoryNode& node : nodes) {
    const std::int32_t here = std::min(left, node.free);
    if (here == 0) continue;
    out.push_back(make_share(cluster, ledger, demand, node.node, here));
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

// Places one GPU on the node with the fewest free GPUs.
bool place_single(const Cluster& cluster, const ResourceLedger& ledger, const Demand& demand,
                  Placement& out) {
  for (std::int32_t free = 1; free <= cluster.topology().largest_node_gpus(); ++free) {
    for (NodeId node = ledger.next_with_exactly(free, NodeId(0)); node != ledger.no_node();
         node = ledger.next_with_exactly(free, NodeId(node.index() + 1))) {
      if (!demand.allows(cluster, node)) continue;
      if (!ledger.can_serve(node, demand.appetite(cluster, node), 1)) continue;
      out.push_back(make_share(cluster, ledger, demand, node, 1));
      return true;
    }
  }
  return false;
}

}  // namespace

bool place_locally(const Cluster& cluster, const ResourceLedger& ledger, const Demand& demand,
                   Locality locality, Placement& out) {
  out.clear();
  if (demand.gpus > ledger.free_gpus()) return false;
  if (demand.gpus == 1) return place_single(cluster, ledger, demand, out);
  const std::vector<Rack> racks = racks_of(cluster, ledger, demand);
  if (locality == Locality::kAnywhere) {
    std::vector<HistoryNode> all;
    for (const Rack& rack : racks) {
      all.insert(all.end(), rack.nodes.begin(), rack.nodes.end());
    }
    if (demand.spread > 0) {  // Minimize nodes, not racks.
      std::stable_sort(all.begin(), all.end(),
                       [](const HistoryNode& a, const HistoryNode& b) { return a.free > b.free; });
    }
    return take_first(cluster, ledger, demand, all, out);
  }
  for (const Rack& rack : racks) {
    if (rack.free < demand.gpus) break;
    const std::size_t count =
        locality == Locality::kOneRack ? rack.nodes.size() : fewest(rack, demand.gpus);
    const std::span<const HistoryNode> nodes(rack.nodes.data(), count);
    if (take_first(cluster, ledger, demand, nodes, out)) return true;
  }
  return false;
}

std::vector<NodeId> nodes_to_ask(const Cluster& cluster, const ResourceLedger& ledger,
                                 const Demand& demand, Locality locality) {
  std::vector<Rack> racks = racks_of(cluster, ledger, demand);
  std::vector<NodeId> out;
  if (locality == Locality::kAnywhere) {
    // Enough nodes for twice the gang, so that one long-running job does not block it.
    std::int32_t capacity = 0;
    for (const Rack& rack : racks) {
      for (const HistoryNode& node : rack.nodes) {
        if (capacity >= 2 * demand.gpus) return out;
        out.push_back(node.node);
        capacity += node.capacity;
      }
    }
    return out;
  }
  for (const Rack& rack : racks) {
    if (rack.capacity < demand.gpus) continue;
    std::size_t count = fewest(rack, demand.gpus);
    if (locality == Locality::kOneRack) count = std::min(2 * count, rack.nodes.size());
    // Most free GPUs first, but skip a node if the others could not hold the rest of the gang.
    std::vector<HistoryNode> nodes = rack.nodes;
    std::int32_t left = demand.gpus;
    while (out.size() < count) {
      const auto fits = [&](const HistoryNode& node) {
        std::vector<std::int32_t> others;
        for (const HistoryNode& other : nodes) {
          if (other.node != node.node) others.push_back(other.capacity);
        }
        std::sort(others.begin(), others.end(), std::greater<>());
        std::int32_t most = node.capacity;
        for (std::size_t i = 0; i + 1 < count - out.size(); ++i) most += others[i];
        return most >= left;
      };
      const auto next = std::find_if(nodes.begin(), nodes.end(), fits);
      left -= next->capacity;
      out.push_back(next->node);
      nodes.erase(next);
    }
    return out;
  }
  return out;
}

bool place_on(const Cluster& cluster, const ResourceLedger& ledger, const Demand& demand,
              std::span<const NodeId> nodes, Placement& out) {
  out.clear();
  std::vector<HistoryNode> asked;
  for (const NodeId node : nodes) {
    asked.push_back({node, ledger.gpus_with(node, demand.appetite(cluster, node)), 0});
  }
  std::stable_sort(asked.begin(), asked.end(),
                   [](const HistoryNode& a, const HistoryNode& b) { return a.free > b.free; });
  return take_first(cluster, ledger, demand, asked, out);
}

}  // namespace muster
