#include "engine/placement/first_fit.h"

#include <algorithm>

#include "engine/placement/consolidate.h"

namespace muster {

bool FirstFit::place(const Cluster& cluster, const Books& books, const Demand& demand,
                     Placement& out) const {
  out.clear();
  std::int32_t left = demand.gpus;
  if (left > books.free_gpus()) return false;
  for (NodeId node = books.next_with_free(NodeId(0)); node != books.no_node() && left > 0;
       node = books.next_with_free(NodeId(node.index() + 1))) {
    if (!demand.allows(cluster, node)) continue;
    const std::int32_t count =
        std::min(left, books.gpus_with(node, demand.appetite(cluster, node)));
    if (count == 0) continue;
    out.push_back(make_share(cluster, books, demand, node, count));
    left -= count;
  }
  const bool found = left == 0 && (!books.pooled() || books.can_take(out));
  if (found && demand.narrow_enough(out)) return true;
  // The first are too far apart for it: then the fewest.
  if (found) return Consolidate().place(cluster, books, demand, out);
  out.clear();
  return false;
}

}  // namespace muster
