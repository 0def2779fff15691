#include "engine/placement/consolidate.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace muster {

namespace {

bool used(const Placement& placement, NodeId node) {
  return std::any_of(placement.begin(), placement.end(),
                     [node](const Share& share) { return share.node == node; });
}

// The fitting node with the fewest free GPUs; the lowest id in a tie.
NodeId tightest(const Cluster& cluster, const ResourceLedger& ledger, const Demand& demand,
                std::int32_t count, const Placement& taken) {
  const std::int32_t most = cluster.topology().largest_node_gpus();
  for (std::int32_t free = count; free <= most; ++free) {
    for (NodeId node = ledger.next_with_exactly(free, NodeId(0)); node != ledger.no_node();
         node = ledger.next_with_exactly(free, NodeId(node.index() + 1))) {
      if (!demand.allows(cluster, node) || used(taken, node)) continue;
      if (ledger.has_room(node, demand.appetite(cluster, node), count)) return node;
    }
  }
  return ledger.no_node();
}

// The node that can serve the most GPUs of this demand. In a tie, the node with fewer free GPUs,
// then the lowest id.
std::pair<NodeId, std::int32_t> roomiest(const Cluster& cluster, const ResourceLedger& ledger,
                                         const Demand& demand, const Placement& taken) {
  std::pair<NodeId, std::int32_t> best{ledger.no_node(), 1};
  for (std::int32_t free = cluster.topology().largest_node_gpus(); free >= best.second; --free) {
    bool found = false;  // A node with this many free GPUs matches or beats the best so far.
    for (NodeId node = ledger.next_with_exactly(free, NodeId(0));
         node != ledger.no_node() && !(found && best.second == free);
         node = ledger.next_with_exactly(free, NodeId(node.index() + 1))) {
      if (!demand.allows(cluster, node) || used(taken, node)) continue;
      const std::int32_t can = ledger.gpus_with(node, demand.appetite(cluster, node));
      if (can < best.second || (found && can == best.second)) continue;
      best = {node, can};
      found = true;
    }
  }
  return best;
}

}  // namespace

bool Consolidate::place(const Cluster& cluster, const ResourceLedger& ledger, const Demand& demand,
                        Placement& out) const {
  out.clear();
  std::int32_t left = demand.gpus;
  if (left > ledger.free_gpus()) return false;
  while (left > 0) {
    NodeId node = tightest(cluster, ledger, demand, left, out);
    std::int32_t count = left;
    if (node == ledger.no_node() && left > 1) {
      std::tie(node, count) = roomiest(cluster, ledger, demand, out);
    }
    if (node == ledger.no_node()) break;
    out.push_back(make_share(cluster, ledger, demand, node, count));
    left -= count;
  }
  std::sort(out.begin(), out.end(), [](const Share& a, const Share& b) { return a.node < b.node; });
  if (left == 0 && demand.narrow_enough(out) && (!ledger.pooled() || ledger.can_take(out)))
    return true;
  out.clear();
  return false;
}

}  // namespace muster
