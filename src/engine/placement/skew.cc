#include "engine/placement/skew.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "engine/placement/consolidate.h"

namespace muster {

namespace {

// Minimum number of nodes for this demand in an idle cluster, including its minimum CPU and memory.
std::size_t min_nodes(const Cluster& cluster, const Demand& demand) {
  std::vector<std::int32_t> sizes;
  const Topology& topology = cluster.topology();
  for (std::size_t i = 0; i < topology.node_count(); ++i) {
    if (!demand.allows(cluster, NodeId(i))) continue;
    const Resources& capacity = topology.node(NodeId(i)).capacity;
    std::int64_t gpus = capacity.gpus;
    if (demand.least.cpu_milli > 0) {
      gpus = std::min(gpus, capacity.cpu_milli / demand.least.cpu_milli);
    }
    if (demand.least.mem_mib > 0) gpus = std::min(gpus, capacity.mem_mib / demand.least.mem_mib);
    sizes.push_back(static_cast<std::int32_t>(gpus));
  }
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  std::size_t count = 0;
  for (std::int32_t left = demand.gpus; left > 0 && count < sizes.size();) left -= sizes[count++];
  return count;
}

}  // namespace

bool Skew::place(const Cluster& cluster, const ResourceLedger& ledger, const Demand& demand,
                 Placement& out) const {
  if (!Consolidate().place(cluster, ledger, demand, out)) return false;
  const Profile& profile = cluster.profiles()[demand.profile];
  const bool tolerates_spread = profile.skew() > 0 && !profile.is_skewed();
  const bool accepted =
      out.size() == 1 || tolerates_spread || out.size() <= min_nodes(cluster, demand);
  if (!accepted) out.clear();
  return accepted;
}

}  // namespace muster
