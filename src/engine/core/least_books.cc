#include "engine/core/least_books.h"

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

LeastBooks::LeastBooks(const Cluster& cluster, const View& view, const Draft& draft)
    : cluster_(&cluster), books_(draft.books()) {
  // First nobody more than his right, then all of it to those who hold less of something: one may
  // have the CPU that is another's, and that one the first one's memory.
  std::vector<std::pair<Placement, Placement>> short_of;
  for (const JobId job : view.placed()) {
    const Placement* held = draft.placement(job);
    if (held == nullptr) continue;
    const Placement right = least_on(cluster, view.spec(job), *held);
    Placement now = *held;
    for (std::size_t i = 0; i < now.size(); ++i) {
      books_.give(now[i]);
      now[i].cpu_milli = std::min(now[i].cpu_milli, right[i].cpu_milli);
      now[i].mem_mib = std::min(now[i].mem_mib, right[i].mem_mib);
      now[i].storage_kbps = std::min(now[i].storage_kbps, right[i].storage_kbps);
      books_.take(now[i]);
    }
    if (now != right) short_of.emplace_back(std::move(now), right);
  }
  for (const auto& [now, right] : short_of) {
    for (const Share& share : now) books_.give(share);
    for (const Share& share : books_.can_take(right) ? right : now) books_.take(share);
  }
}

bool LeastBooks::keep(const JobSpec& spec, const Placement& slots) {
  const Placement right = least_on(*cluster_, spec, slots);
  if (!books_.can_take(right)) return false;
  for (const Share& share : right) books_.take(share);
  return true;
}

bool LeastBooks::place(const Placer& placer, const Ask& ask) {
  Placement placement;
  if (!placer.place(*cluster_, books_, fair_demand(ask), placement)) return false;
  for (const Share& share : placement) books_.take(share);
  return true;
}

}  // namespace muster
