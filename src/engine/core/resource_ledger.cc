#include "engine/core/resource_ledger.h"

#include <algorithm>

#include "base/types/check.h"

namespace muster {

namespace {

void draw(std::int64_t& room, std::int64_t& debt, std::int64_t amount) {
  room -= amount;
  if (room >= 0) return;
  debt -= room;
  room = 0;
}

void refill(std::int64_t& room, std::int64_t& debt, std::int64_t amount) {
  const std::int64_t paid = std::min(debt, amount);
  debt -= paid;
  room += amount - paid;
}

}  // namespace

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

ResourceLedger::ResourceLedger(const Topology& topology, Pooling pooling)
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

void ResourceLedger::set(std::size_t row, NodeId node) {
  std::uint64_t* words = &index_[row * (words_ + coarse_)];
  const std::size_t word = node.index() / 64;
  words[word] |= std::uint64_t{1} << (node.index() % 64);
  words[words_ + word / 64] |= std::uint64_t{1} << (word % 64);
}

void ResourceLedger::clear(std::size_t row, NodeId node) {
  std::uint64_t* words = &index_[row * (words_ + coarse_)];
  const std::size_t word = node.index() / 64;
  words[word] &= ~(std::uint64_t{1} << (node.index() % 64));
  if (words[word] == 0) words[words_ + word / 64] &= ~(std::uint64_t{1} << (word % 64));
}

NodeId ResourceLedger::next_in(std::size_t row, NodeId from) const {
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

void ResourceLedger::move(NodeId node, std::int32_t before, std::int32_t after) {
  clear(static_cast<std::size_t>(before), node);
  set(static_cast<std::size_t>(after), node);
  if (after == 0) clear(free_row_, node);
  if (before == 0) set(free_row_, node);
  free_gpus_ += after - before;
  free_by_type_[topology_->node(node).gpu_type] += after - before;
}

std::int32_t ResourceLedger::gpus_with(NodeId node, const Resources& per_gpu) const {
  const Room& here = room(node);
  std::int64_t most = free_gpus(node);
  if (per_gpu.cpu_milli > 0) most = std::min(most, here.cpu_milli / per_gpu.cpu_milli);
  if (per_gpu.mem_mib > 0) most = std::min(most, here.mem_mib / per_gpu.mem_mib);
  if (per_gpu.storage_kbps > 0) most = std::min(most, here.storage_kbps / per_gpu.storage_kbps);
  return static_cast<std::int32_t>(most);
}

ResourceLedger::Room ResourceLedger::room_to_return(NodeId node) const {
  const std::size_t at = room_of(node);
  Room all = rooms_[at];
  if (debts_.empty()) return all;
  const auto left = [](std::int64_t deepest, std::int64_t debt) {
    return std::max<std::int64_t>(0, deepest - debt);
  };
  all.cpu_milli += left(deepest_[at].cpu_milli, debts_[at].cpu_milli);
  all.mem_mib += left(deepest_[at].mem_mib, debts_[at].mem_mib);
  return all;
}

bool ResourceLedger::fits(const Share& share, const Room& here) {
  return share.cpu_milli >= 0 && share.mem_mib >= 0 && share.storage_kbps >= 0 &&
         share.cpu_milli <= here.cpu_milli && share.mem_mib <= here.mem_mib &&
         share.storage_kbps <= here.storage_kbps;
}

bool ResourceLedger::can_take(const Share& share) const {
  return share.node.index() < topology_->node_count() && has_slots(share) &&
         fits(share, room(share.node));
}

bool ResourceLedger::has_room_for(const Placement& placement, bool back) const {
  Share sum;
  for (std::size_t i = 0; i < placement.size(); ++i) {
    const Share& share = placement[i];
    if (share.node.index() >= topology_->node_count()) return false;
    if (i > 0 && share.node <= placement[i - 1].node) return false;
    if (!fits(share, back ? room_to_return(share.node) : room(share.node))) return false;
    sum.cpu_milli += share.cpu_milli;
    sum.mem_mib += share.mem_mib;
    sum.storage_kbps += share.storage_kbps;
  }
  if (placement.empty()) return false;
  return !pooled_ || fits(sum, back ? room_to_return(NodeId(0)) : rooms_[0]);
}

bool ResourceLedger::can_take(const Placement& placement) const {
  if (placement.size() == 1) return can_take(placement.front());
  return has_room_for(placement, false) &&
         std::all_of(placement.begin(), placement.end(),
                     [this](const Share& share) { return has_slots(share); });
}

bool ResourceLedger::can_return(const Placement& placement) const {
  return has_room_for(placement, true) &&
         std::all_of(placement.begin(), placement.end(),
                     [this](const Share& share) { return has_slots(share); });
}

void ResourceLedger::withhold(NodeId node, std::int64_t cpu_milli, std::int64_t mem_mib) {
  if (debts_.empty()) {
    if (cpu_milli == 0 && mem_mib == 0) return;
    debts_.resize(rooms_.size());
    deepest_.resize(rooms_.size());
  }
  const std::size_t at = room_of(node);
  const auto change = [](std::int64_t& room, std::int64_t& debt, std::int64_t more) {
    more > 0 ? draw(room, debt, more) : refill(room, debt, -more);
  };
  change(rooms_[at].cpu_milli, debts_[at].cpu_milli, cpu_milli);
  change(rooms_[at].mem_mib, debts_[at].mem_mib, mem_mib);
  deepest_[at] = debts_[at];
}

bool ResourceLedger::in_debt(NodeId node) const {
  if (debts_.empty()) return false;
  const Room& debt = debts_[room_of(node)];
  return debt.cpu_milli > 0 || debt.mem_mib > 0;
}

void ResourceLedger::draw_room(const Share& share) {
  const std::size_t at = room_of(share.node);
  Room& here = rooms_[at];
  if (debts_.empty()) {
    here.cpu_milli -= share.cpu_milli;
    here.mem_mib -= share.mem_mib;
  } else {
    draw(here.cpu_milli, debts_[at].cpu_milli, share.cpu_milli);
    draw(here.mem_mib, debts_[at].mem_mib, share.mem_mib);
  }
  here.storage_kbps -= share.storage_kbps;
}

void ResourceLedger::refill_room(const Share& share) {
  const std::size_t at = room_of(share.node);
  Room& here = rooms_[at];
  if (debts_.empty()) {
    here.cpu_milli += share.cpu_milli;
    here.mem_mib += share.mem_mib;
  } else {
    refill(here.cpu_milli, debts_[at].cpu_milli, share.cpu_milli);
    refill(here.mem_mib, debts_[at].mem_mib, share.mem_mib);
  }
  here.storage_kbps += share.storage_kbps;
}

void ResourceLedger::take(const Share& share) {
  MUSTER_CHECK(can_take(share) || (has_slots(share) && fits(share, room_to_return(share.node))));
  SlotMask& slots = free_slots_[share.node];
  const std::int32_t before = std::popcount(slots);
  slots &= ~share.slots;
  draw_room(share);
  move(share.node, before, std::popcount(slots));
}

void ResourceLedger::give(const Share& share) {
  SlotMask& slots = free_slots_[share.node];
  MUSTER_CHECK((slots & share.slots) == 0);
  const std::int32_t before = std::popcount(slots);
  slots |= share.slots;
  refill_room(share);
  move(share.node, before, std::popcount(slots));
}

void ResourceLedger::take_room(const Share& share) {
  MUSTER_CHECK(fits(share, room(share.node)) || fits(share, room_to_return(share.node)));
  draw_room(share);
}

void ResourceLedger::give_room(const Share& share) {
  MUSTER_CHECK((free_slots_[share.node] & share.slots) == 0);
  refill_room(share);
}

}  // namespace muster
