// Packing::write(): stores the assignment as placements.

#include <algorithm>

#include "base/types/check.h"
#include "engine/mechanism/packing.h"

namespace muster {

void Packing::raise_spanning() {
  for (const std::uint32_t i : spanning_) {
    Placement& given = asks_[i].given;
    if (!cluster_.topology().uniform()) continue;
    const std::vector<Choice>& choices =
        solver_.choices(solver_.kind(*asks_[i].spec, given[0].node));
    for (std::size_t pick = choices.size(); pick-- > 1;) {
      const Choice& choice = choices[pick];
      const bool fits = std::all_of(given.begin(), given.end(), [&](const Share& share) {
        const ResourceLedger::Room& spare = spare_[share.node.index()];
        return choice.cpu_milli * share.gpus() - share.cpu_milli <= spare.cpu_milli &&
               choice.mem_mib * share.gpus() - share.mem_mib <= spare.mem_mib;
      });
      if (!fits) continue;
      for (Share& share : given) {
        ResourceLedger::Room& spare = spare_[share.node.index()];
        spare.cpu_milli -= choice.cpu_milli * share.gpus() - share.cpu_milli;
        spare.mem_mib -= choice.mem_mib * share.gpus() - share.mem_mib;
        share.cpu_milli = choice.cpu_milli * share.gpus();
        share.mem_mib = choice.mem_mib * share.gpus();
      }
      break;
    }
  }
}

void Packing::write() {
  spare_.resize(nodes_.size());
  std::vector<SlotMask> taken(cluster_.topology().node_count());
  for (const std::uint32_t i : spanning_) {
    for (const Share& share : asks_[i].given) taken[share.node.index()] |= share.slots;
  }
  for (std::size_t s = 0; s < nodes_.size(); ++s) {
    HistoryNode& node = nodes_[s];
    // The solver requires the order by kind.
    std::sort(node.jobs.begin(), node.jobs.end(), [&](std::uint32_t x, std::uint32_t y) {
      const JobKind a = kind_on(x, node);
      const JobKind b = kind_on(y, node);
      return a != b ? a < b : x < y;
    });
    kinds_.clear();
    for (const std::uint32_t i : node.jobs) kinds_.push_back(kind_on(i, node));
    const NodeSolver::Answer& answer = solver_.solve(node.cpu_milli, node.mem_mib, kinds_);
    MUSTER_CHECK(answer.fits);
    spare_[s] = {node.cpu_milli, node.mem_mib, 0};
    for (std::size_t k = 0; k < node.jobs.size(); ++k) {
      const Choice& choice = solver_.choices(kinds_[k])[answer.picks[k]];
      Placement& given = asks_[node.jobs[k]].given;
      const bool stays = pooled_ || given[0].node == node.node;
      if (!stays) given[0] = {node.node, 0, 0, 0, 0};
      for (Share& share : given) {
        // The slots of a moved job are chosen below, after those of all jobs that stay.
        const std::int64_t count = stays ? share.gpus() : asks_[node.jobs[k]].spec->gpus;
        share.cpu_milli = choice.cpu_milli * count;
        share.mem_mib = choice.mem_mib * count;
        share.storage_kbps = cluster_.extent(std::nullopt).poorest_fair.storage_kbps * count;
        spare_[s].cpu_milli -= share.cpu_milli;
        spare_[s].mem_mib -= share.mem_mib;
        if (!pooled_) taken[share.node.index()] |= share.slots;
      }
    }
  }
  for (const HistoryNode& node : nodes_) {
    if (pooled_) break;
    SlotMask& used = taken[node.node.index()];
    for (const std::uint32_t i : node.jobs) {
      Share& share = asks_[i].given[0];
      if (share.slots != 0) continue;
      share.slots = lowest_slots(usable_[node.node.index()] & ~used, asks_[i].spec->gpus);
      used |= share.slots;
    }
  }
  if (!pooled_) raise_spanning();
}

}  // namespace muster
