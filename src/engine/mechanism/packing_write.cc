// Packing: the assignment that was found, written back as placements.

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
        const Books::Room& spare = spare_[share.node.index()];
        return choice.cpu_milli * share.gpus() - share.cpu_milli <= spare.cpu_milli &&
               choice.mem_mib * share.gpus() - share.mem_mib <= spare.mem_mib;
      });
      if (!fits) continue;
      for (Share& share : given) {
        Books::Room& spare = spare_[share.node.index()];
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
  spare_.resize(servers_.size());
  std::vector<SlotMask> taken(cluster_.topology().node_count());
  for (const std::uint32_t i : spanning_) {
    for (const Share& share : asks_[i].given) taken[share.node.index()] |= share.slots;
  }
  for (std::size_t s = 0; s < servers_.size(); ++s) {
    Server& server = servers_[s];
    // Sorted by kind, as the solver wants them; within a kind by ask.
    std::sort(server.jobs.begin(), server.jobs.end(), [&](std::uint32_t x, std::uint32_t y) {
      const JobKind a = kind_on(x, server);
      const JobKind b = kind_on(y, server);
      return a != b ? a < b : x < y;
    });
    kinds_.clear();
    for (const std::uint32_t i : server.jobs) kinds_.push_back(kind_on(i, server));
    const ServerSolver::Answer& answer = solver_.solve(server.cpu_milli, server.mem_mib, kinds_);
    MUSTER_CHECK(answer.fits);
    spare_[s] = {server.cpu_milli, server.mem_mib, 0};
    for (std::size_t k = 0; k < server.jobs.size(); ++k) {
      const Choice& choice = solver_.choices(kinds_[k])[answer.picks[k]];
      Placement& given = asks_[server.jobs[k]].given;
      const bool stays = pooled_ || given[0].node == server.node;
      if (!stays) given[0] = {server.node, 0, 0, 0, 0};
      for (Share& share : given) {
        // A newcomer's slots are found below, when all that stay are known; its GPUs count already.
        const std::int64_t count = stays ? share.gpus() : asks_[server.jobs[k]].spec->gpus;
        share.cpu_milli = choice.cpu_milli * count;
        share.mem_mib = choice.mem_mib * count;
        share.storage_kbps = cluster_.extent(std::nullopt).poorest_fair.storage_kbps * count;
        spare_[s].cpu_milli -= share.cpu_milli;
        spare_[s].mem_mib -= share.mem_mib;
        if (!pooled_) taken[share.node.index()] |= share.slots;
      }
    }
  }
  for (const Server& server : servers_) {
    if (pooled_) break;
    SlotMask& used = taken[server.node.index()];
    for (const std::uint32_t i : server.jobs) {
      Share& share = asks_[i].given[0];
      if (share.slots != 0) continue;
      share.slots = lowest_slots(usable_[server.node.index()] & ~used, asks_[i].spec->gpus);
      used |= share.slots;
    }
  }
  if (!pooled_) raise_spanning();
}

}  // namespace muster
