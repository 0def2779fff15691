#include "sim/compat/synergy_tune.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/mechanism/tune.h"
#include "engine/mechanism/tune_allocation.h"

namespace muster {

namespace {

// One round.
class Round {
 public:
  Round(const Cluster& cluster, const Placer& placer, ResourceLedger& ledger, std::span<Ask> asks)
      : cluster_(cluster), placer_(placer), ledger_(ledger), all_(cluster, ledger, asks) {}

  void serve(std::uint32_t i) {
    Placement& given = all_.ask(i).given;
    if (all_.best(i).gpus > ledger_.free_gpus()) return;
    if (placer_.place(cluster_, ledger_, all_.best(i), given)) return all_.settle(i);
    all_.set_at_fair(i, true);
    const Demand share = all_.modest(i);
    if (placer_.place(cluster_, ledger_, share, given)) return all_.settle(i);
    choose_and_reclaim(i, share.gpus);
    if (placer_.place(cluster_, ledger_, share, given)) all_.settle(i);
  }

 private:
  // Chooses the nodes on which jobs are reduced for a new job: the first with enough free GPUs, or
  // else those with the fewest free GPUs.
  void choose_and_reclaim(std::uint32_t i, std::int32_t gpus) {
    const std::size_t nodes = cluster_.topology().node_count();
    if (gpus > 1) {
      for (std::size_t n = 0; n < nodes; ++n) {
        if (ledger_.free_gpus(NodeId(n)) >= gpus) return reclaim(NodeId(n), i, gpus);
      }
    }
    std::vector<std::pair<std::int32_t, NodeId>> by_free;
    for (std::size_t n = 0; n < nodes; ++n) {
      const std::int32_t free = ledger_.free_gpus(NodeId(n));
      if (free > 0) by_free.emplace_back(free, NodeId(n));
    }
    std::sort(by_free.begin(), by_free.end());
    for (const auto& [free, node] : by_free) {
      if (gpus == 0) return;
      const std::int32_t here = std::min(gpus, free);
      reclaim(node, i, here);
      gpus -= here;
    }
  }

  // The other jobs on `node`: those on the fewest nodes first, then those with the most CPU, then
  // memory, per GPU.
  std::vector<std::uint32_t> reducible(NodeId node, std::uint32_t i) const {
    std::vector<std::tuple<std::size_t, std::int64_t, std::int64_t, std::uint32_t>> order;
    for (const std::uint32_t j : all_.neighbors(node)) {
      if (j == i) continue;
      const Resources held = all_.held_near(j, node);
      order.emplace_back(all_.ask(j).given.size(), -held.cpu_milli / held.gpus,
                         -held.mem_mib / held.gpus, j);
    }
    std::sort(order.begin(), order.end());
    std::vector<std::uint32_t> jobs;
    jobs.reserve(order.size());
    for (const auto& entry : order) jobs.push_back(std::get<3>(entry));
    return jobs;
  }

  // Reduces jobs on `node` until the proportional share of `gpus` GPUs is free.
  void reclaim(NodeId node, std::uint32_t i, std::int32_t gpus) {
    Resources need = all_.lack(i, node, cluster_.fair(node) * gpus);
    for (const std::uint32_t other : reducible(node, i)) {
      if (need.cpu_milli == 0 && need.mem_mib == 0) return;
      const Resources above = all_.above_share(other, node);
      need.cpu_milli = std::max<std::int64_t>(0, need.cpu_milli - above.cpu_milli);
      need.mem_mib = std::max<std::int64_t>(0, need.mem_mib - above.mem_mib);
      all_.reduce(other);
    }
  }

  const Cluster& cluster_;
  const Placer& placer_;
  ResourceLedger& ledger_;
  TuneAllocation all_;
};

}  // namespace

void SynergyTune::place(const Cluster& cluster, const Placer& placer, const ResourceLedger& ledger,
                        Ask& ask) const {
  Tune().place(cluster, placer, ledger, ask);
}

void SynergyTune::rebalance(const Cluster& cluster, const Placer& placer, ResourceLedger& ledger,
                            std::span<Ask> asks) {
  Round round(cluster, placer, ledger, asks);
  for (std::uint32_t i = 0; i < asks.size(); ++i) round.serve(i);
}

}  // namespace muster
