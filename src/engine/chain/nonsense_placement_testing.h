#pragma once

// Random placements for planners that draft nonsense: a whole gang on free GPUs, corrupted in one
// of three cases.

#include <algorithm>
#include <cstdint>
#include <map>

#include "base/types/random.h"
#include "engine/core/draft.h"
#include "engine/core/view.h"

namespace muster::nonsense {

inline bool one_in(Random& random, std::uint64_t n) { return random.below(n) == 0; }

inline void spoil(Random& random, Placement& placement) {
  if (placement.empty()) {
    placement.push_back({NodeId(static_cast<std::uint32_t>(random.below(9))), random.next()});
    return;
  }
  Share& share = placement[random.below(placement.size())];
  switch (random.below(9)) {
    case 0:
      share.cpu_milli = -1 - static_cast<std::int64_t>(random.below(1000));
      break;
    case 1:
      share.cpu_milli = std::int64_t{1} << (20 + random.below(43));
      break;
    case 2:
      share.mem_mib = one_in(random, 2) ? -5 : std::int64_t{1} << 62;
      break;
    case 3:
      share.node =
          NodeId(static_cast<std::uint32_t>(one_in(random, 2) ? random.below(9) : random.next()));
      break;
    case 4:
      share.slots = random.next() & 0xff;
      break;
    case 5:
      share.slots = 0;
      break;
    case 6:
      placement.push_back(placement.front());  // The same node again.
      break;
    case 7:
      std::reverse(placement.begin(), placement.end());
      break;
    default:
      placement.pop_back();
      break;
  }
}

// Returns a valid gang on free GPUs, corrupted in one of three cases.
inline Placement any_placement(Random& random, const View& view, const Draft& draft, JobId job) {
  const Topology& topology = view.cluster().topology();
  const bool known = job.index() < view.job_count();
  std::int32_t left = known ? view.spec(job).gpus : 2;
  if (one_in(random, 3)) left = static_cast<std::int32_t>(1 + random.below(8));
  std::map<NodeId, Share> shares;
  for (int tries = 0; left > 0 && tries < 6; ++tries) {
    const NodeId node(static_cast<std::size_t>(random.below(topology.node_count())));
    const std::int32_t count = std::min(left, draft.ledger().free_gpus(node));
    if (count == 0 || shares.contains(node)) continue;
    const ResourceLedger::Room& room = draft.ledger().room(node);
    const auto part = [&](std::int64_t amount) {
      return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(amount / 2 + 1)));
    };
    shares[node] = {node, lowest_slots(draft.ledger().free_slots(node), count),
                    part(room.cpu_milli), part(room.mem_mib), part(room.storage_kbps)};
    left -= count;
  }
  Placement placement;
  for (const auto& [node, share] : shares) placement.push_back(share);
  const Placement* held = known ? draft.placement(job) : nullptr;
  if (held != nullptr && one_in(random, 3)) {  // Same slots, other amounts.
    placement = *held;
    for (Share& share : placement) share.cpu_milli = static_cast<std::int64_t>(random.below(900));
  }
  if (one_in(random, 3)) spoil(random, placement);
  return placement;
}

}  // namespace muster::nonsense
