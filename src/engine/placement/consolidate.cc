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

// The fitting node with the fewest free GPUs, lowest number first.
NodeId tightest(const Cluster& cluster, const Books& books, const Demand& demand,
                std::int32_t count, const Placement& taken) {
  const std::int32_t most = cluster.topology().largest_node_gpus();
  for (std::int32_t free = count; free <= most; ++free) {
    for (NodeId node = books.next_with_exactly(free, NodeId(0)); node != books.no_node();
         node = books.next_with_exactly(free, NodeId(node.index() + 1))) {
      if (!demand.allows(cluster, node) || used(taken, node)) continue;
      if (books.has_room(node, demand.appetite(cluster, node), count)) return node;
    }
  }
  return books.no_node();
}

// The node that can serve the most GPUs of this demand; on a tie the one with fewer free, then the
// lower number.
std::pair<NodeId, std::int32_t> roomiest(const Cluster& cluster, const Books& books,
                                         const Demand& demand, const Placement& taken) {
  std::pair<NodeId, std::int32_t> best{books.no_node(), 1};
  for (std::int32_t free = cluster.topology().largest_node_gpus(); free >= best.second; --free) {
    bool found = false;  // With this many free, one as good as the best of those with more.
    for (NodeId node = books.next_with_exactly(free, NodeId(0));
         node != books.no_node() && !(found && best.second == free);
         node = books.next_with_exactly(free, NodeId(node.index() + 1))) {
      if (!demand.allows(cluster, node) || used(taken, node)) continue;
      const std::int32_t can = books.gpus_with(node, demand.appetite(cluster, node));
      if (can < best.second || (found && can == best.second)) continue;
      best = {node, can};
      found = true;
    }
  }
  return best;
}

}  // namespace

bool Consolidate::place(const Cluster& cluster, const Books& books, const Demand& demand,
                        Placement& out) const {
  out.clear();
  std::int32_t left = demand.gpus;
  if (left > books.free_gpus()) return false;
  while (left > 0) {
    NodeId node = tightest(cluster, books, demand, left, out);
    std::int32_t count = left;
    if (node == books.no_node() && left > 1) {
      std::tie(node, count) = roomiest(cluster, books, demand, out);
    }
    if (node == books.no_node()) break;
    out.push_back(make_share(cluster, books, demand, node, count));
    left -= count;
  }
  std::sort(out.begin(), out.end(), [](const Share& a, const Share& b) { return a.node < b.node; });
  if (left == 0 && demand.narrow_enough(out) && (!books.pooled() || books.can_take(out)))
    return true;
  out.clear();
  return false;
}

}  // namespace muster
