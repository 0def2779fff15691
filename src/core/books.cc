#include "core/books.h"

#include <algorithm>

#include "base/check.h"

namespace muster {

Resources total_of(const Placement& placement) {
  Resources total;
  for (const Share& share : placement) {
    total += {share.gpus(), share.cpu_milli, share.mem_mib, share.storage_kbps};
  }
  return total;
}

bool same_slots(const Placement& a, const Placement& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Share& x, const Share& y) {
    return x.node == y.node && x.slots == y.slots;
  });
}

SlotMask lowest_slots(SlotMask mask, std::int32_t k) {
  SlotMask picked = 0;
  for (std::int32_t i = 0; i < k; ++i) {
    const SlotMask lowest = mask & (~mask + 1);
    MUSTER_CHECK(lowest != 0);
    picked |= lowest;
    mask ^= lowest;
  }
  return picked;
}

Books::Books(const Topology& topology, Pooling pooling)
    : topology_(&topology),
      pooled_(pooling == Pooling::kWholeCluster),
      free_by_type_(topology.gpu_type_count()),
      free_slots_(topology.node_count()),
      rooms_(pooled_ ? 1 : topology.node_count()),
      words_((topology.node_count() + 63) / 64),
      coarse_((words_ + 63) / 64),
      free_row_(static_cast<std::size_t>(topology.largest_node_gpus()) + 1),
      index_((free_row_ + 1) * (words_ + coarse_)) {
  for (std::size_t i = 0; i < topology.node_count(); ++i) {
    const NodeId id(i);
    const Resources& capacity = topology.node(id).capacity;
    free_slots_[id] = capacity.gpus == 64 ? ~SlotMask{0} : (SlotMask{1} << capacity.gpus) - 1;
    free_gpus_ += capacity.gpus;
    free_by_type_[topology.node(id).gpu_type] += capacity.gpus;
    Room& room = rooms_[pooled_ ? 0 : i];
    room.cpu_milli += capacity.cpu_milli;
    room.mem_mib += capacity.mem_mib;
    room.storage_kbps += capacity.storage_kbps;
    set(static_cast<std::size_t>(capacity.gpus), id);
    set(free_row_, id);
  }
}

void Books::set(std::size_t row, NodeId node) {
  std::uint64_t* words = &index_[row * (words_ + coarse_)];
  const std::size_t word = node.index() / 64;
  words[word] |= std::uint64_t{1} << (node.index() % 64);
  words[words_ + word / 64] |= std::uint64_t{1} << (word % 64);
}

void Books::clear(std::size_t row, NodeId node) {
  std::uint64_t* words = &index_[row * (words_ + coarse_)];
  const std::size_t word = node.index() / 64;
  words[word] &= ~(std::uint64_t{1} << (node.index() % 64));
  if (words[word] == 0) words[words_ + word / 64] &= ~(std::uint64_t{1} << (word % 64));
}

NodeId Books::next_in(std::size_t row, NodeId from) const {
  if (from.index() >= topology_->node_count()) return no_node();
  const std::uint64_t* words = &index_[row * (words_ + coarse_)];
  std::size_t word = from.index() / 64;
  const std::uint64_t here = words[word] >> (from.index() % 64);
  if (here != 0) return NodeId(from.index() + static_cast<std::uint32_t>(std::countr_zero(here)));
  if (++word == words_) return no_node();
  std::size_t block = word / 64;
  std::uint64_t blocks = words[words_ + block] >> (word % 64) << (word % 64);
  while (blocks == 0) {
    if (++block == coarse_) return no_node();
    blocks = words[words_ + block];
  }
  word = block * 64 + static_cast<std::size_t>(std::countr_zero(blocks));
  return NodeId(word * 64 + static_cast<std::size_t>(std::countr_zero(words[word])));
}

void Books::move(NodeId node, std::int32_t before, std::int32_t after) {
  clear(static_cast<std::size_t>(before), node);
  set(static_cast<std::size_t>(after), node);
  if (after == 0) clear(free_row_, node);
  if (before == 0) set(free_row_, node);
  free_gpus_ += after - before;
  free_by_type_[topology_->node(node).gpu_type] += after - before;
}

std::int32_t Books::gpus_with(NodeId node, const Resources& per_gpu) const {
  const Room& here = room(node);
  std::int64_t most = free_gpus(node);
  if (per_gpu.cpu_milli > 0) most = std::min(most, here.cpu_milli / per_gpu.cpu_milli);
  if (per_gpu.mem_mib > 0) most = std::min(most, here.mem_mib / per_gpu.mem_mib);
  if (per_gpu.storage_kbps > 0) most = std::min(most, here.storage_kbps / per_gpu.storage_kbps);
  return static_cast<std::int32_t>(most);
}

bool Books::can_take(const Share& share) const {
  if (share.node.index() >= topology_->node_count() || share.slots == 0) return false;
  const Room& here = room(share.node);
  return (share.slots & ~free_slots_[share.node]) == 0 && share.cpu_milli >= 0 &&
         share.mem_mib >= 0 && share.storage_kbps >= 0 && share.cpu_milli <= here.cpu_milli &&
         share.mem_mib <= here.mem_mib && share.storage_kbps <= here.storage_kbps;
}

bool Books::can_take(const Placement& placement) const {
  if (placement.size() == 1) return can_take(placement.front());
  Room sum;
  for (std::size_t i = 0; i < placement.size(); ++i) {
    if (!can_take(placement[i])) return false;
    if (i > 0 && placement[i].node <= placement[i - 1].node) return false;
    sum.cpu_milli += placement[i].cpu_milli;
    sum.mem_mib += placement[i].mem_mib;
    sum.storage_kbps += placement[i].storage_kbps;
  }
  if (placement.empty()) return false;
  return !pooled_ || (sum.cpu_milli <= rooms_[0].cpu_milli && sum.mem_mib <= rooms_[0].mem_mib &&
                      sum.storage_kbps <= rooms_[0].storage_kbps);
}

void Books::take(const Share& share) {
  MUSTER_CHECK(can_take(share));
  SlotMask& slots = free_slots_[share.node];
  const std::int32_t before = std::popcount(slots);
  slots &= ~share.slots;
  Room& here = rooms_[pooled_ ? 0 : share.node.index()];
  here.cpu_milli -= share.cpu_milli;
  here.mem_mib -= share.mem_mib;
  here.storage_kbps -= share.storage_kbps;
  move(share.node, before, std::popcount(slots));
}

void Books::give(const Share& share) {
  SlotMask& slots = free_slots_[share.node];
  MUSTER_CHECK((slots & share.slots) == 0);
  const std::int32_t before = std::popcount(slots);
  slots |= share.slots;
  Room& here = rooms_[pooled_ ? 0 : share.node.index()];
  here.cpu_milli += share.cpu_milli;
  here.mem_mib += share.mem_mib;
  here.storage_kbps += share.storage_kbps;
  move(share.node, before, std::popcount(slots));
}

}  // namespace muster
