#include "engine/planner/optimus_place.h"

#include <algorithm>
#include <span>
#include <vector>

namespace muster {

namespace {

struct ServerRoom {
  NodeId node;
  std::int32_t room;  // GPUs it could give.
  SlotMask own;       // Those the job has there now.
  std::int32_t take = 0;
};

std::vector<ServerRoom> servers_with_room(const Cluster& cluster, const Books& books,
                                          GpuTypeId type, const Placement& held) {
  std::vector<ServerRoom> servers;
  auto mine = held.begin();
  const auto add_own_before = [&](NodeId node) {
    for (; mine != held.end() && mine->node < node; ++mine) {
      if (cluster.topology().node(mine->node).gpu_type != type) continue;
      servers.push_back({mine->node, mine->gpus(), mine->slots});
    }
  };
  for (NodeId node = books.next_with_free(NodeId(0)); node != books.no_node();
       node = books.next_with_free(NodeId(node.index() + 1))) {
    add_own_before(node);
    const bool here = mine != held.end() && mine->node == node;
    if (cluster.topology().node(node).gpu_type == type) {
      const std::int32_t free = books.gpus_with(node, cluster.fair(node));
      const SlotMask own = here ? mine->slots : 0;
      servers.push_back({node, free + std::popcount(own), own});
    }
    if (here) ++mine;
  }
  add_own_before(books.no_node());
  std::erase_if(servers, [](const ServerRoom& server) { return server.room == 0; });
  return servers;
}

// The fewest of them on which so many GPUs can be had in numbers that differ by one at most; 0 for
// none.
std::int32_t fewest_even(std::span<const ServerRoom> servers, std::int32_t gpus) {
  std::vector<std::int32_t> at_least(kMostGpusPerNode + 2, 0);  // How many have so much room.
  for (const ServerRoom& server : servers) ++at_least[static_cast<std::size_t>(server.room)];
  for (std::size_t room = kMostGpusPerNode; room-- > 0;) at_least[room] += at_least[room + 1];
  const auto with_room = [&](std::int32_t room) {
    return room > kMostGpusPerNode ? 0 : at_least[static_cast<std::size_t>(room)];
  };
  const std::int32_t most = std::min(gpus, static_cast<std::int32_t>(servers.size()));
  for (std::int32_t count = 1; count <= most; ++count) {
    const std::int32_t each = gpus / count;
    const std::int32_t with_one_more = gpus % count;
    if (with_room(each) >= count && with_room(each + 1) >= with_one_more) return count;
  }
  return 0;
}

// The least room that is enough, so that whole servers stay whole; of equals the first.
void take_tightest(std::span<ServerRoom> servers, std::int32_t count, std::int32_t each) {
  if (count == 0) return;
  std::vector<ServerRoom*> fitting;
  for (ServerRoom& server : servers) {
    if (server.take == 0 && server.room >= each) fitting.push_back(&server);
  }
  std::stable_sort(fitting.begin(), fitting.end(),
                   [](const ServerRoom* a, const ServerRoom* b) { return a->room < b->room; });
  for (std::int32_t i = 0; i < count; ++i) fitting[static_cast<std::size_t>(i)]->take = each;
}

bool take_emptiest(std::span<ServerRoom> servers, std::int32_t gpus) {
  std::vector<ServerRoom*> order;
  for (ServerRoom& server : servers) order.push_back(&server);
  std::stable_sort(order.begin(), order.end(),
                   [](const ServerRoom* a, const ServerRoom* b) { return a->room > b->room; });
  for (ServerRoom* server : order) {
    server->take = std::min(gpus, server->room);
    gpus -= server->take;
  }
  return gpus == 0;
}

Share share_of(const Cluster& cluster, const Books& books, const ServerRoom& server) {
  const Resources amount = cluster.fair(server.node) * server.take;
  const std::int32_t kept = std::min(server.take, std::popcount(server.own));
  const SlotMask slots = lowest_slots(server.own, kept) |
                         lowest_slots(books.free_slots(server.node), server.take - kept);
  return {server.node, slots, amount.cpu_milli, amount.mem_mib, amount.storage_kbps};
}

}  // namespace

bool place_evenly(const Cluster& cluster, const Books& books, std::int32_t gpus, GpuTypeId type,
                  const Placement& held, Placement& out) {
  out.clear();
  std::vector<ServerRoom> servers = servers_with_room(cluster, books, type, held);
  const std::int32_t count = fewest_even(servers, gpus);
  if (!held.empty()) {
    std::vector<ServerRoom> own = servers;
    std::erase_if(own, [](const ServerRoom& server) { return server.own == 0; });
    if (fewest_even(own, gpus) == count && count > 0) servers = std::move(own);
  }
  if (count > 0) {
    take_tightest(servers, gpus % count, gpus / count + 1);
    take_tightest(servers, count - gpus % count, gpus / count);
  } else if (!take_emptiest(servers, gpus)) {
    return false;
  }
  for (const ServerRoom& server : servers) {
    if (server.take > 0) out.push_back(share_of(cluster, books, server));
  }
  return true;
}

}  // namespace muster
