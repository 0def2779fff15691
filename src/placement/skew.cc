#include "placement/skew.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "placement/consolidate.h"

namespace muster {

namespace {

// On how few servers so many GPUs can be at all.
std::size_t fewest_servers(const Cluster& cluster, const Demand& demand) {
  std::vector<std::int32_t> sizes;
  const Topology& topology = cluster.topology();
  for (std::size_t i = 0; i < topology.node_count(); ++i) {
    if (demand.allows(cluster, NodeId(i))) sizes.push_back(topology.node(NodeId(i)).capacity.gpus);
  }
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  std::size_t count = 0;
  for (std::int32_t left = demand.gpus; left > 0 && count < sizes.size();) left -= sizes[count++];
  return count;
}

}  // namespace

bool Skew::place(const Cluster& cluster, const Books& books, const Demand& demand,
                 Placement& out) const {
  if (!Consolidate().place(cluster, books, demand, out)) return false;
  const bool together = out.size() == 1 || !cluster.profiles()[demand.profile].is_skewed() ||
                        out.size() <= fewest_servers(cluster, demand);
  if (!together) out.clear();
  return together;
}

}  // namespace muster
