#include "engine/placement/yarn.h"

#include <algorithm>
#include <vector>

namespace muster {

namespace {

// First node with id >= `from` that can serve `count` GPUs of the demand.
NodeId first_with(const Cluster& cluster, const ResourceLedger& ledger, const Demand& demand,
                  NodeId from, std::int32_t count) {
  for (NodeId node = ledger.next_with_free(from); node != ledger.no_node();
       node = ledger.next_with_free(NodeId(node.index() + 1))) {
    if (!demand.allows(cluster, node)) continue;
    if (ledger.can_serve(node, demand.appetite(cluster, node), count)) return node;
  }
  return ledger.no_node();
}

// Takes whole idle nodes of one rack in id order, then one node for the rest.
bool fill_rack(const Cluster& cluster, const ResourceLedger& ledger, const Demand& demand,
               RackId rack, Placement& out) {
  out.clear();
  std::int32_t left = demand.gpus;
  const Topology& topology = cluster.topology();
  const auto eligible = [&](NodeId node) {
    return topology.node(node).rack == rack && demand.allows(cluster, node);
  };
  for (NodeId node = ledger.next_with_free(NodeId(0)); node != ledger.no_node();
       node = ledger.next_with_free(NodeId(node.index() + 1))) {
    const std::int32_t size = topology.node(node).capacity.gpus;
    if (!eligible(node) || size > left || ledger.free_gpus(node) != size) continue;
    if (!ledger.can_serve(node, demand.appetite(cluster, node), size)) continue;
    out.push_back(make_share(cluster, ledger, demand, node, size));
    left -= size;
    if (left == 0) return true;
  }
  if (left >= cluster.extent(demand.gpu_type).largest_gpus) return false;
  for (NodeId node = first_with(cluster, ledger, demand, NodeId(0), left); node != ledger.no_node();
       node = first_with(cluster, ledger, demand, NodeId(node.index() + 1), left)) {
    const bool taken = std::any_of(out.begin(), out.end(),
                                   [node](const Share& share) { return share.node == node; });
    if (taken || !eligible(node)) continue;
    out.push_back(make_share(cluster, ledger, demand, node, left));
    std::sort(out.begin(), out.end(),
              [](const Share& a, const Share& b) { return a.node < b.node; });
    return true;
  }
  return false;
}

}  // namespace

bool Yarn::place(const Cluster& cluster, const ResourceLedger& ledger, const Demand& demand,
                 Placement& out) const {
  out.clear();
  const Topology& topology = cluster.topology();
  if (demand.gpus > ledger.free_gpus()) return false;
  if (demand.gpus <= cluster.extent(demand.gpu_type).largest_gpus) {
    const NodeId node = first_with(cluster, ledger, demand, NodeId(0), demand.gpus);
    if (node == ledger.no_node()) return false;
    out.push_back(make_share(cluster, ledger, demand, node, demand.gpus));
    return true;
  }
  for (std::size_t rack = 0; rack < topology.rack_count(); ++rack) {
    if (!fill_rack(cluster, ledger, demand, RackId(rack), out)) continue;
    if (demand.narrow_enough(out) && (!ledger.pooled() || ledger.can_take(out))) return true;
  }
  out.clear();
  return false;
}

}  // namespace muster
