#include "engine/placement/random.h"

#include <algorithm>
#include <vector>

#include "base/types/random.h"
#include "engine/placement/consolidate.h"

namespace muster {

bool RandomPlacer::place(const Cluster& cluster, const ResourceLedger& ledger, const Demand& demand,
                         Placement& out) const {
  out.clear();
  if (demand.gpus > ledger.free_gpus()) return false;
  // One ticket per usable GPU; draw without replacement.
  std::vector<NodeId> tickets;
  for (NodeId node = ledger.next_with_free(NodeId(0)); node != ledger.no_node();
       node = ledger.next_with_free(NodeId(node.index() + 1))) {
    if (!demand.allows(cluster, node)) continue;
    const std::int32_t can = ledger.gpus_with(node, demand.appetite(cluster, node));
    tickets.insert(tickets.end(), static_cast<std::size_t>(can), node);
  }
  if (tickets.size() < static_cast<std::size_t>(demand.gpus)) return false;
  Random random(demand.salt);
  std::vector<NodeId> drawn;
  for (std::int32_t i = 0; i < demand.gpus; ++i) {
    const std::size_t pick = random.below(tickets.size());
    drawn.push_back(tickets[pick]);
    tickets[pick] = tickets.back();
    tickets.pop_back();
  }
  std::sort(drawn.begin(), drawn.end());
  for (std::size_t i = 0; i < drawn.size();) {
    std::size_t end = i;
    while (end < drawn.size() && drawn[end] == drawn[i]) ++end;
    out.push_back(
        make_share(cluster, ledger, demand, drawn[i], static_cast<std::int32_t>(end - i)));
    i = end;
  }
  if (!demand.narrow_enough(out)) return Consolidate().place(cluster, ledger, demand, out);
  if (!ledger.pooled() || ledger.can_take(out)) return true;
  out.clear();
  return false;
}

}  // namespace muster
