#include "core/placer.h"

namespace muster {

Share make_share(const Cluster& cluster, const Books& books, const Demand& demand, NodeId node,
                 std::int32_t count) {
  const Resources each = demand.appetite(cluster, node);
  return {node, lowest_slots(books.free_slots(node), count), each.cpu_milli * count,
          each.mem_mib * count, each.storage_kbps * count};
}

}  // namespace muster
