#pragma once

// The one set of books: which GPU slots, CPUs, memory and storage bandwidth are free, by server.
// Everyone who looks for room reads a Books; only the Draft writes the engine's own. A copy of a
// Books is a scratch pad on which a mechanism may try things.

#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/types/id.h"
#include "engine/model/resources.h"
#include "engine/model/topology.h"

namespace muster {

using SlotMask = std::uint64_t;  // One bit a GPU of a node.

// What one job holds on one node. CPU, memory and storage are the node's total for the job.
struct Share {
  NodeId node;
  SlotMask slots = 0;
  std::int64_t cpu_milli = 0;
  std::int64_t mem_mib = 0;
  std::int64_t storage_kbps = 0;

  std::int32_t gpus() const { return std::popcount(slots); }
  friend bool operator==(const Share&, const Share&) = default;
};

// All of a gang: one Share a node, ascending by node. Empty means none.
using Placement = std::vector<Share>;

Resources total_of(const Placement& placement);
bool same_slots(const Placement& a, const Placement& b);

// Whether CPU, memory and storage are counted server by server, or as if all servers were one. The
// latter is an idealisation (placement `count`, mechanism `opt`) for bounds and comparisons.
enum class Pooling : std::uint8_t { kPerNode, kWholeCluster };

class Books {
 public:
  Books(const Topology& topology, Pooling pooling);

  const Topology& topology() const { return *topology_; }
  bool pooled() const { return pooled_; }

  std::int32_t free_gpus() const { return free_gpus_; }
  // Of one type, or of any.
  std::int32_t free_gpus(std::optional<GpuTypeId> type) const {
    return type ? free_by_type_[*type] : free_gpus_;
  }
  SlotMask free_slots(NodeId node) const { return free_slots_[node]; }
  std::int32_t free_gpus(NodeId node) const { return std::popcount(free_slots_[node]); }

  // CPU, memory and storage left to what `node` draws on (the whole cluster's when pooled).
  struct Room {
    std::int64_t cpu_milli = 0;
    std::int64_t mem_mib = 0;
    std::int64_t storage_kbps = 0;
  };
  const Room& room(NodeId node) const { return rooms_[pooled_ ? 0 : node.index()]; }

  // How many GPUs of this appetite the node could serve now, at most its free ones.
  std::int32_t gpus_with(NodeId node, const Resources& per_gpu) const;

  // Whether it is at least so many; cheaper than to count them.
  bool can_serve(NodeId node, const Resources& per_gpu, std::int32_t count) const {
    return count <= free_gpus(node) && has_room(node, per_gpu, count);
  }
  // The same for one who knows that so many GPUs are free.
  bool has_room(NodeId node, const Resources& per_gpu, std::int32_t count) const {
    const Room& here = room(node);
    return per_gpu.cpu_milli * count <= here.cpu_milli && per_gpu.mem_mib * count <= here.mem_mib &&
           per_gpu.storage_kbps * count <= here.storage_kbps;
  }

  bool can_take(const Share& share) const;
  bool can_take(const Placement& placement) const;
  void take(const Share& share);  // CHECKs can_take().
  void give(const Share& share);  // CHECKs that the slots were taken.

  // So much more of what `node` draws on is for nobody here to have; less if negative. What is held
  // already stays held: if not all of it is free, the rest is a debt, and what is given back pays
  // that first. Storage is left alone. Whoever is given up and taken again after this may be in
  // debt again, but all together no deeper than they are now.
  void withhold(NodeId node, std::int64_t cpu_milli, std::int64_t mem_mib);
  bool in_debt(NodeId node) const;
  // The same as can_take(), for one who gets back what was his.
  bool can_return(const Placement& placement) const;
  // Either without a look at the slots.
  bool has_room_for(const Placement& placement, bool back) const;

  // Lowest node at or after `from` with at least one free GPU / exactly `count` free GPUs; node
  // index node_count() when there is none. Constant time but for very large clusters.
  NodeId next_with_free(NodeId from) const { return next_in(free_row_, from); }
  NodeId next_with_exactly(std::int32_t count, NodeId from) const {
    const auto row = static_cast<std::size_t>(count);
    return row < free_row_ ? next_in(row, from) : no_node();  // No server is that large.
  }
  NodeId no_node() const { return NodeId(topology_->node_count()); }

 private:
  // Row c of the index is the set of nodes with exactly c free GPUs; one more row holds all nodes
  // with any. Each row is a bitmap with a second, coarser bitmap over its non-empty words.
  NodeId next_in(std::size_t row, NodeId from) const;
  void set(std::size_t row, NodeId node);
  void clear(std::size_t row, NodeId node);
  void move(NodeId node, std::int32_t before, std::int32_t after);
  std::size_t room_of(NodeId node) const { return pooled_ ? 0 : node.index(); }
  Room room_to_return(NodeId node) const;
  bool has_slots(const Share& share) const {
    return share.slots != 0 && (share.slots & ~free_slots_[share.node]) == 0;
  }
  static bool fits(const Share& share, const Room& here);

  const Topology* topology_;
  bool pooled_;
  std::int32_t free_gpus_ = 0;
  IdVector<GpuTypeId, std::int32_t> free_by_type_;
  IdVector<NodeId, SlotMask> free_slots_;
  std::vector<Room> rooms_;
  std::vector<Room> debts_;    // Where there is one, the room is zero. Empty until there is any,
  std::vector<Room> deepest_;  // as are these: what the debts were, and may be again.
  std::size_t words_;          // Words a row.
  std::size_t coarse_;         // Words of the coarser bitmap a row.
  std::size_t free_row_;       // The row of nodes with any free GPU.
  std::vector<std::uint64_t> index_;
};

// The k lowest slots of a mask that has at least k.
SlotMask lowest_slots(SlotMask mask, std::int32_t k);

}  // namespace muster
