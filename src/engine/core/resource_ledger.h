#pragma once

// Free GPU slots, CPUs, memory and storage bandwidth per node. Placers, mechanisms and planners
// read it. Within a plan only the Draft changes the ledger of the engine. Mechanisms try out
// placements on a copy.

#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/types/id.h"
#include "engine/model/resources.h"
#include "engine/model/topology.h"

namespace muster {

using SlotMask = std::uint64_t;  // One bit per GPU of a node.

// The resources of one job on one node. CPU, memory and storage are totals for all its GPUs there.
struct Share {
  NodeId node;
  SlotMask slots = 0;
  std::int64_t cpu_milli = 0;
  std::int64_t mem_mib = 0;
  std::int64_t storage_kbps = 0;

  std::int32_t gpus() const { return std::popcount(slots); }
  friend bool operator==(const Share&, const Share&) = default;
};

// The placement of a whole gang: one Share per node, ascending by node. Empty: no placement.
using Placement = std::vector<Share>;

Resources total_of(const Placement& placement);
bool same_slots(const Placement& a, const Placement& b);

// Whether CPU, memory and storage are counted per node, or as if the cluster were one node. The
// latter is an idealization (placement `count`, mechanism `opt`) for bounds and comparisons.
enum class Pooling : std::uint8_t { kPerNode, kWholeCluster };

class ResourceLedger {
 public:
  ResourceLedger(const Topology& topology, Pooling pooling);

  const Topology& topology() const { return *topology_; }
  bool pooled() const { return pooled_; }

  std::int32_t free_gpus() const { return free_gpus_; }
  // Returns the free GPUs of `type`, or of all types if it is empty.
  std::int32_t free_gpus(std::optional<GpuTypeId> type) const {
    return type ? free_by_type_[*type] : free_gpus_;
  }
  SlotMask free_slots(NodeId node) const { return free_slots_[node]; }
  std::int32_t free_gpus(NodeId node) const { return std::popcount(free_slots_[node]); }

  // Free CPU, memory and storage of `node`; of the whole cluster if pooled.
  struct Room {
    std::int64_t cpu_milli = 0;
    std::int64_t mem_mib = 0;
    std::int64_t storage_kbps = 0;
  };
  const Room& room(NodeId node) const { return rooms_[pooled_ ? 0 : node.index()]; }

  // Returns how many free GPUs of the node can each get `per_gpu` now.
  std::int32_t gpus_with(NodeId node, const Resources& per_gpu) const;

  // Returns whether gpus_with() is at least `count`; cheaper than gpus_with().
  bool can_serve(NodeId node, const Resources& per_gpu, std::int32_t count) const {
    return count <= free_gpus(node) && has_room(node, per_gpu, count);
  }
  // Like can_serve(), for callers that know that `count` GPUs are free.
  bool has_room(NodeId node, const Resources& per_gpu, std::int32_t count) const {
    const Room& here = room(node);
    return per_gpu.cpu_milli * count <= here.cpu_milli && per_gpu.mem_mib * count <= here.mem_mib &&
           per_gpu.storage_kbps * count <= here.storage_kbps;
  }

  bool can_take(const Share& share) const;
  bool can_take(const Placement& placement) const;
  void take(const Share& share);  // CHECKs can_take().
  void give(const Share& share);  // CHECKs that the slots were taken.

  // take() and give() for the CPU, memory and storage of a share whose slots stay taken. Cheaper,
  // because the index by free GPUs does not change.
  void take_room(const Share& share);
  void give_room(const Share& share);

  // Withholds CPU and memory of `node` from all jobs; negative amounts release them. Jobs keep what
  // they hold: a shortage becomes a debt, which later give() calls pay first. Storage is not
  // affected. A placement that is released and taken again may restore the debt, up to its amount
  // at the last withhold().
  void withhold(NodeId node, std::int64_t cpu_milli, std::int64_t mem_mib);
  bool in_debt(NodeId node) const;
  // Like can_take(), for a job that takes back what it held: it may restore the debt.
  bool can_return(const Placement& placement) const;
  // Like can_return() if `back`, otherwise like can_take(), but does not check the slots.
  bool has_room_for(const Placement& placement, bool back) const;

  // Returns the lowest node at or after `from` with any free GPU, or with exactly `count`;
  // no_node() if there is none. O(1), except for very large clusters.
  NodeId next_with_free(NodeId from) const { return next_in(free_row_, from); }
  NodeId next_with_exactly(std::int32_t count, NodeId from) const {
    const auto row = static_cast<std::size_t>(count);
    return row < free_row_ ? next_in(row, from) : no_node();  // No node has that many GPUs.
  }
  NodeId no_node() const { return NodeId(topology_->node_count()); }

 private:
  // Row c of the index is the set of nodes with exactly c free GPUs. One more row holds all nodes
  // with any. Each row is a bitmap with a second, coarser bitmap over its non-empty words.
  NodeId next_in(std::size_t row, NodeId from) const;
  void set(std::size_t row, NodeId node);
  void clear(std::size_t row, NodeId node);
  void move(NodeId node, std::int32_t before, std::int32_t after);
  std::size_t room_of(NodeId node) const { return pooled_ ? 0 : node.index(); }
  Room room_to_return(NodeId node) const;
  void draw_room(const Share& share);
  void refill_room(const Share& share);
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
  std::vector<Room> debts_;    // Per entry of rooms_; empty before the first withhold().
  std::vector<Room> deepest_;  // The debts at the last withhold(), which may be restored.
  std::size_t words_;          // Words per row.
  std::size_t coarse_;         // Words per row of the coarser bitmap.
  std::size_t free_row_;       // The row of nodes with any free GPU.
  std::vector<std::uint64_t> index_;
};

// Returns the k lowest slots of `mask`. REQUIRES: it has at least k.
SlotMask lowest_slots(SlotMask mask, std::int32_t k);

}  // namespace muster
