#include "engine/planner/optimus_place.h"

#include <algorithm>
#include <span>
#include <vector>

namespace muster {

namespace {

struct NodeRoom {
  NodeId node;
  std::int32_t room;  // GPUs that it can provide.
  SlotMask own;       // GPUs that the job holds there.
  std::int32_t take = 0;
};

std::vector<NodeRoom> nodes_with_room(const Cluster& cluster, const ResourceLedger& ledger,
                                      GpuTypeId type, const Placement& held) {
  std::vector<NodeRoom> nodes;
  auto mine = held.begin();
  const auto add_own_before = [&](NodeId node) {
    for (; mine != held.end() && mine->node < node; ++mine) {
      if (cluster.topology().node(mine->node).gpu_type != type) continue;
      nodes.push_back({mine->node, mine->gpus(), mine->slots});
    }
  };
  for (NodeId node = ledger.next_with_free(NodeId(0)); node != ledger.no_node();
       node = ledger.next_with_free(NodeId(node.index() + 1))) {
    add_own_before(node);
    const bool here = mine != held.end() && mine->node == node;
    if (cluster.topology().node(node).gpu_type == type) {
      const std::int32_t free = ledger.gpus_with(node, cluster.fair(node));
      const SlotMask own = here ? mine->slots : 0;
      nodes.push_back({node, free + std::popcount(own), own});
    }
    if (here) ++mine;
  }
  add_own_before(ledger.no_node());
  std::erase_if(nodes, [](const NodeRoom& node) { return node.room == 0; });
  return nodes;
}

// Minimum number of nodes for `gpus` GPUs in numbers that differ by at most one; 0 if impossible.
std::int32_t fewest_even(std::span<const NodeRoom> nodes, std::int32_t gpus) {
  std::vector<std::int32_t> at_least(kMaxGpusPerNode + 2, 0);  // Number of nodes by minimum room.
  for (const NodeRoom& node : nodes) ++at_least[static_cast<std::size_t>(node.room)];
  for (std::size_t room = kMaxGpusPerNode; room-- > 0;) at_least[room] += at_least[room + 1];
  const auto with_room = [&](std::int32_t room) {
    return room > kMaxGpusPerNode ? 0 : at_least[static_cast<std::size_t>(room)];
  };
  const std::int32_t most = std::min(gpus, static_cast<std::int32_t>(nodes.size()));
  for (std::int32_t count = 1; count <= most; ++count) {
    const std::int32_t each = gpus / count;
    const std::int32_t with_one_more = gpus % count;
    if (with_room(each) >= count && with_room(each + 1) >= with_one_more) return count;
  }
  return 0;
}

// Takes nodes with the least sufficient room, so that whole nodes stay free. In a tie, the first.
void take_tightest(std::span<NodeRoom> nodes, std::int32_t count, std::int32_t each) {
  if (count == 0) return;
  std::vector<NodeRoom*> fitting;
  for (NodeRoom& node : nodes) {
    if (node.take == 0 && node.room >= each) fitting.push_back(&node);
  }
  std::stable_sort(fitting.begin(), fitting.end(),
                   [](const NodeRoom* a, const NodeRoom* b) { return a->room < b->room; });
  for (std::int32_t i = 0; i < count; ++i) fitting[static_cast<std::size_t>(i)]->take = each;
}

bool take_emptiest(std::span<NodeRoom> nodes, std::int32_t gpus) {
  std::vector<NodeRoom*> order;
  for (NodeRoom& node : nodes) order.push_back(&node);
  std::stable_sort(order.begin(), order.end(),
                   [](const NodeRoom* a, const NodeRoom* b) { return a->room > b->room; });
  for (NodeRoom* node : order) {
    node->take = std::min(gpus, node->room);
    gpus -= node->take;
  }
  return gpus == 0;
}

Share share_of(const Cluster& cluster, const ResourceLedger& ledger, const NodeRoom& node) {
  const Resources amount = cluster.fair(node.node) * node.take;
  const std::int32_t kept = std::min(node.take, std::popcount(node.own));
  const SlotMask slots =
      lowest_slots(node.own, kept) | lowest_slots(ledger.free_slots(node.node), node.take - kept);
  return {node.node, slots, amount.cpu_milli, amount.mem_mib, amount.storage_kbps};
}

}  // namespace

bool place_evenly(const Cluster& cluster, const ResourceLedger& ledger, std::int32_t gpus,
                  GpuTypeId type, const Placement& held, Placement& out) {
  out.clear();
  std::vector<NodeRoom> nodes = nodes_with_room(cluster, ledger, type, held);
  const std::int32_t count = fewest_even(nodes, gpus);
  if (!held.empty()) {
    std::vector<NodeRoom> own = nodes;
    std::erase_if(own, [](const NodeRoom& node) { return node.own == 0; });
    if (fewest_even(own, gpus) == count && count > 0) nodes = std::move(own);
  }
  if (count > 0) {
    take_tightest(nodes, gpus % count, gpus / count + 1);
    take_tightest(nodes, count - gpus % count, gpus / count);
  } else if (!take_emptiest(nodes, gpus)) {
    return false;
  }
  for (const NodeRoom& node : nodes) {
    if (node.take > 0) out.push_back(share_of(cluster, ledger, node));
  }
  return true;
}

}  // namespace muster
