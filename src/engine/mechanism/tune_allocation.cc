#include "engine/mechanism/tune_allocation.h"

#include <algorithm>

#include "base/types/check.h"
#include "engine/mechanism/demand.h"

namespace muster {

namespace {

std::int64_t excess(std::int64_t a, std::int64_t b) { return std::max<std::int64_t>(0, a - b); }

}  // namespace

TuneAllocation::TuneAllocation(const Cluster& cluster, ResourceLedger& ledger, std::span<Ask> asks)
    : cluster_(&cluster),
      ledger_(&ledger),
      asks_(asks),
      at_fair_(asks.size()),
      on_node_(cluster.topology().node_count()) {
  best_.reserve(asks.size());
  for (const Ask& ask : asks) best_.push_back(best_demand(cluster, ask));
}

Demand TuneAllocation::modest(std::uint32_t i) const {
  const bool above = exceeds(best_[i], cluster_->extent(std::nullopt).poorest_fair);
  return above ? fair(i) : best_[i];
}

void TuneAllocation::settle(std::uint32_t i) {
  for (const Share& share : asks_[i].given) {
    ledger_->take(share);
    std::vector<std::uint32_t>& list = on_node_[ledger_->pooled() ? NodeId(0) : share.node];
    if (list.empty() || list.back() != i) list.push_back(i);  // Only once, also in a pool.
  }
}

void TuneAllocation::release(std::uint32_t i) {
  for (const Share& share : asks_[i].given) {
    ledger_->give(share);
    std::erase(on_node_[ledger_->pooled() ? NodeId(0) : share.node], i);
  }
}

bool TuneAllocation::grow(std::uint32_t i, const Demand& demand) {
  Placement& given = asks_[i].given;
  std::int64_t cpu = 0;
  std::int64_t mem = 0;
  std::int64_t storage = 0;
  for (const Share& share : given) {
    const Resources want = demand.appetite(*cluster_, share.node) * share.gpus();
    const ResourceLedger::Room& room = ledger_->room(share.node);
    if (!ledger_->pooled()) cpu = mem = storage = 0;  // A pool counts all shares together.
    cpu += want.cpu_milli - share.cpu_milli;
    mem += want.mem_mib - share.mem_mib;
    storage += want.storage_kbps - share.storage_kbps;
    if (!ledger_->pooled() || &share == &given.back()) {
      if (cpu > room.cpu_milli || mem > room.mem_mib || storage > room.storage_kbps) return false;
    }
  }
  for (const Share& share : given) ledger_->give_room(share);
  for (Share& share : given) {
    const Resources want = demand.appetite(*cluster_, share.node) * share.gpus();
    share.cpu_milli = want.cpu_milli;
    share.mem_mib = want.mem_mib;
    share.storage_kbps = want.storage_kbps;
    ledger_->take_room(share);
  }
  return true;
}

bool TuneAllocation::reduce(std::uint32_t i) {
  if (at_fair_[i]) return false;
  const Placement& given = asks_[i].given;
  const bool above = std::any_of(given.begin(), given.end(), [&](const Share& share) {
    return exceeds(best_[i], at_least(cluster_->fair(share.node), asks_[i].spec->least));
  });
  if (!above) return false;
  at_fair_[i] = true;
  // The share may include more memory than the best demand, and other jobs may hold it now. In that
  // case the job only releases what exceeds its share.
  if (grow(i, fair(i))) return true;
  Demand least = best_[i];
  const Resources share =
      at_least(cluster_->extent(std::nullopt).poorest_fair, asks_[i].spec->least);
  least.per_gpu->cpu_milli = std::min(least.per_gpu->cpu_milli, share.cpu_milli);
  least.per_gpu->mem_mib = std::min(least.per_gpu->mem_mib, share.mem_mib);
  MUSTER_CHECK(grow(i, least));
  return true;
}

Resources TuneAllocation::held_near(std::uint32_t i, NodeId node) const {
  Resources held;
  for (const Share& share : asks_[i].given) {
    if (!ledger_->pooled() && share.node != node) continue;
    held += {share.gpus(), share.cpu_milli, share.mem_mib, share.storage_kbps};
  }
  return held;
}

Resources TuneAllocation::of_demand(std::uint32_t i, const Demand& demand, NodeId node) const {
  Resources sum;
  for (const Share& share : asks_[i].given) {
    if (!ledger_->pooled() && share.node != node) continue;
    sum += demand.appetite(*cluster_, share.node) * share.gpus();
  }
  return sum;
}

Resources TuneAllocation::above_share(std::uint32_t i, NodeId node) const {
  const Resources held = held_near(i, node);
  const Resources share = of_demand(i, fair(i), node);
  return {0, excess(held.cpu_milli, share.cpu_milli), excess(held.mem_mib, share.mem_mib), 0};
}

Resources TuneAllocation::lack(std::uint32_t i, NodeId node, const Resources& wanted) const {
  const Resources own = held_near(i, node);
  const ResourceLedger::Room& room = ledger_->room(node);
  return {0, excess(wanted.cpu_milli, room.cpu_milli + own.cpu_milli),
          excess(wanted.mem_mib, room.mem_mib + own.mem_mib), 0};
}

}  // namespace muster
