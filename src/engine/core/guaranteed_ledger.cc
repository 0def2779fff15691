#include "engine/core/guaranteed_ledger.h"

#include <algorithm>

#include "engine/core/draft.h"

namespace muster {

Placement least_on(const Cluster& cluster, const JobSpec& spec, const Placement& slots) {
  Placement placement = slots;
  for (Share& share : placement) {
    const Resources right = at_least(cluster.fair(share.node), spec.least) * share.gpus();
    share.cpu_milli = right.cpu_milli;
    share.mem_mib = right.mem_mib;
    share.storage_kbps = right.storage_kbps;
  }
  return placement;
}

GuaranteedLedger::GuaranteedLedger(const Cluster& cluster, const View& view, const Draft& draft)
    : cluster_(&cluster), ledger_(draft.ledger()) {
  // First reduce every job to its guaranteed minimum, then raise the jobs that hold less. The order
  // matters: one job may hold CPU that another is entitled to, while that one holds memory of the
  // first.
  std::vector<std::pair<Placement, Placement>> short_of;
  for (const JobId job : view.placed()) {
    const Placement* held = draft.placement(job);
    if (held == nullptr) continue;
    const Placement right = least_on(cluster, view.spec(job), *held);
    Placement now = *held;
    for (std::size_t i = 0; i < now.size(); ++i) {
      ledger_.give(now[i]);
      now[i].cpu_milli = std::min(now[i].cpu_milli, right[i].cpu_milli);
      now[i].mem_mib = std::min(now[i].mem_mib, right[i].mem_mib);
      now[i].storage_kbps = std::min(now[i].storage_kbps, right[i].storage_kbps);
      ledger_.take(now[i]);
    }
    if (now != right) short_of.emplace_back(std::move(now), right);
  }
  for (const auto& [now, right] : short_of) {
    for (const Share& share : now) ledger_.give(share);
    for (const Share& share : ledger_.can_take(right) ? right : now) ledger_.take(share);
  }
}

bool GuaranteedLedger::keep(const JobSpec& spec, const Placement& slots) {
  const Placement right = least_on(*cluster_, spec, slots);
  if (!ledger_.can_take(right)) return false;
  for (const Share& share : right) ledger_.take(share);
  return true;
}

bool GuaranteedLedger::place(const Placer& placer, const Ask& ask) {
  Placement placement;
  if (!placer.place(*cluster_, ledger_, fair_demand(ask), placement)) return false;
  for (const Share& share : placement) ledger_.take(share);
  return true;
}

}  // namespace muster
