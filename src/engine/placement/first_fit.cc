#include "engine/placement/first_fit.h"

#include <algorithm>

#include "engine/placement/consolidate.h"

namespace muster {

bool FirstFit::place(const Cluster& cluster, const ResourceLedger& ledger, const Demand& demand,
                     Placement& out) const {
  out.clear();
  std::int32_t left = demand.gpus;
  if (left > ledger.free_gpus()) return false;
  for (NodeId node = ledger.next_with_free(NodeId(0)); node != ledger.no_node() && left > 0;
       node = ledger.next_with_free(NodeId(node.index() + 1))) {
    if (!demand.allows(cluster, node)) continue;
    const std::int32_t count =
        std::min(left, ledger.gpus_with(node, demand.appetite(cluster, node)));
    if (count == 0) continue;
    out.push_back(make_share(cluster, ledger, demand, node, count));
    left -= count;
  }
  const bool found = left == 0 && (!ledger.pooled() || ledger.can_take(out));
  if (found && demand.narrow_enough(out)) return true;
  // The first fit exceeds demand.spread: minimize the number of nodes instead.
  if (found) return Consolidate().place(cluster, ledger, demand, out);
  out.clear();
  return false;
}

}  // namespace muster
