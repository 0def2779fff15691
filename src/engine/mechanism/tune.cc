#include "engine/mechanism/tune.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/types/check.h"
#include "engine/core/guaranteed_ledger.h"
#include "engine/mechanism/demand.h"
#include "engine/mechanism/raise.h"

namespace muster {

namespace {

constexpr double kMinMoveGain = 1.5;  // A move costs a checkpoint and a restart.
constexpr double kMinGain = 1e-9;     // Per thousandth of a CPU; less is rounding.

// One rebalance: the placements and resources of all jobs in the scratch ledger.
class Tuning {
 public:
  Tuning(const Cluster& cluster, const Placer& placer, ResourceLedger& ledger, std::span<Ask> asks,
         Fidelity fidelity)
      : cluster_(cluster),
        placer_(placer),
        ledger_(ledger),
        asks_(asks),
        published_(fidelity == Fidelity::kPublished),
        best_(asks.size()),
        at_fair_(asks.size()),
        on_node_(cluster.topology().node_count()) {}

  void run() {
    if (!published_ && is_particular() && !enter_rights()) return keep_as_held();
    std::vector<Key> order;
    order.reserve(asks_.size());
    for (std::uint32_t i = 0; i < asks_.size(); ++i) {
      best_[i] = best_demand(cluster_, asks_[i]);
      const Resources each = best_[i].appetite(cluster_, NodeId(0));
      const std::int64_t gpus = best_[i].gpus;
      order.push_back({-gpus, -each.cpu_milli * gpus, -each.mem_mib * gpus, i});
      if (asks_[i].held != nullptr) hold_slots(i);
    }
    if (!published_) std::sort(order.begin(), order.end());
    for (const Key& key : order) serve(key.ask);
    if (published_ || ledger_.pooled()) return;
    if (!rights_) {
      for (const Key& key : order) move_if_faster(key.ask);
    }
    for (std::size_t n = 0; n < on_node_.size(); ++n) share_rest(NodeId(n));
  }

 private:
  struct Key {  // Large demands first, then in the order of the asks.
    std::int64_t gpus, cpu_milli, mem_mib;
    std::uint32_t ask;
    auto operator<=>(const Key&) const = default;
  };

  // Moves a running job to a node where its best demand fits, if it is then much faster.
  void move_if_faster(std::uint32_t i) {
    Ask& ask = asks_[i];
    if (ask.held == nullptr || ask.must_stay || ask.given.size() != 1 || !at_fair_[i]) return;
    if (grow(i, best_[i])) return;
    Placement there;
    if (!placer_.place(cluster_, ledger_, best_[i], there) || there.size() != 1) return;
    const double here = cluster_.speed(*ask.spec, ask.given);
    if (cluster_.speed(*ask.spec, there) < here * kMinMoveGain) return;
    std::erase(on_node_[ask.given.front().node], i);
    for (const Share& share : ask.given) ledger_.give(share);
    ask.given = std::move(there);
    at_fair_[i] = false;
    settle(i);
  }

  // Gives the CPUs that are left on a node to the jobs that gain the most speed from them.
  void share_rest(NodeId node) {
    while (ledger_.room(node).cpu_milli > 0) {
      Raise best;
      for (const std::uint32_t i : on_node_[node]) {
        if (asks_[i].given.size() != 1) continue;
        Raise raise = best_raise(cluster_.profile(*asks_[i].spec), asks_[i].given.front(),
                                 ledger_.room(node), of_demand(i, best_[i], node).cpu_milli);
        raise.ask = i;
        if (raise.gain > best.gain) best = raise;
      }
      if (best.gain <= kMinGain) return;
      Demand demand = best_[best.ask];
      demand.per_gpu = best.per_gpu;
      if (!grow(best.ask, demand)) return;
    }
  }

  bool is_particular() const {
    return std::any_of(asks_.begin(), asks_.end(),
                       [](const Ask& ask) { return ask.spec->has_least(); });
  }

  // If jobs request CPU or memory, the guaranteed minimums may exceed a node. New jobs then go only
  // to nodes where all minimums fit, so that every guarantee can be met.
  bool enter_rights() {
    rights_.emplace(ledger_);
    for (const Ask& ask : asks_) {
      if (ask.held != nullptr && !enter(ask, *ask.held)) return false;
    }
    return true;
  }

  bool enter(const Ask& ask, const Placement& slots) {
    const Placement right = least_on(cluster_, *ask.spec, slots);
    if (!rights_->can_take(right)) return false;
    for (const Share& share : right) rights_->take(share);
    return true;
  }

  // The running jobs were not placed by these rules (for example by another mechanism before a
  // restart). They stay unchanged, and new jobs get free resources.
  void keep_as_held() {
    for (Ask& ask : asks_) {
      if (ask.held == nullptr || !ledger_.can_return(*ask.held)) continue;
      ask.given = *ask.held;
      for (const Share& share : ask.given) ledger_.take(share);
    }
    for (Ask& ask : asks_) {
      if (ask.held != nullptr) continue;
      Tune().place(cluster_, placer_, ledger_, ask);
      for (const Share& share : ask.given) ledger_.take(share);
    }
  }

  // Places a new job on a node where all guaranteed minimums fit: with its best demand if possible,
  // otherwise with its minimum.
  void serve_within_rights(std::uint32_t i) {
    Ask& ask = asks_[i];
    if (placer_.place(cluster_, ledger_, best_[i], ask.given) && enter(ask, ask.given)) {
      return settle(i);
    }
    if (!placer_.place(cluster_, *rights_, fair(i), ask.given)) return;
    enter(ask, ask.given);
    for (Share& share : ask.given) share.cpu_milli = share.mem_mib = share.storage_kbps = 0;
    settle(i);
    if (grow(i, best_[i])) return;
    at_fair_[i] = true;
    take_back(i);
  }

  // A running job keeps its GPUs. Its CPU and memory are allocated again.
  void hold_slots(std::uint32_t i) {
    asks_[i].given = *asks_[i].held;
    for (Share& share : asks_[i].given) {
      share.cpu_milli = share.mem_mib = share.storage_kbps = 0;
      ledger_.take(share);
      enlist(i, share.node);
    }
  }

  void serve(std::uint32_t i) {
    Ask& ask = asks_[i];
    if (!ask.given.empty()) {
      if (grow(i, best_[i])) return;
      at_fair_[i] = true;
      return take_back(i);
    }
    if (best_[i].gpus > ledger_.free_gpus()) return;
    if (rights_) return serve_within_rights(i);
    if (placer_.place(cluster_, ledger_, best_[i], ask.given)) return settle(i);
    if (!published_ && cluster_.topology().uniform() && place_between(i)) return settle(i);
    at_fair_[i] = true;
    const Demand share = modest(i);
    if (placer_.place(cluster_, ledger_, share, ask.given)) return settle(i);
    if (published_) {
      reclaim_as_published(i, share);
      if (placer_.place(cluster_, ledger_, share, ask.given)) settle(i);
      return;
    }
    // Choose a place by GPUs only. The other jobs there then release what exceeds their share.
    Demand bare = share;
    bare.per_gpu = Resources{1, 0, 0, 0};
    if (!placer_.place(cluster_, ledger_, bare, ask.given)) return;
    settle(i);
    take_back(i);
  }

  // Places a job with the largest number of CPUs between its share and its best demand that a node
  // has left. Otherwise a job that gains from CPUs could get a node without any to spare.
  bool place_between(std::uint32_t i) {
    const std::vector<std::int64_t>& points = cluster_.profile(*asks_[i].spec).cpu_points();
    const Demand share = modest(i);
    const std::int64_t least = share.appetite(cluster_, NodeId(0)).cpu_milli;
    Demand between = best_[i];
    if (!between.per_gpu) return false;
    for (auto point = points.rbegin(); point != points.rend() && *point > least; ++point) {
      if (*point >= best_[i].per_gpu->cpu_milli) continue;
      between.per_gpu->cpu_milli = *point;
      if (placer_.place(cluster_, ledger_, between, asks_[i].given)) return true;
    }
    return false;
  }

  // The demand that a job may enforce: its share, or its best demand if that is not larger in any
  // resource. A job that is as fast with less must leave the rest to jobs that gain from it.
  Demand modest(std::uint32_t i) const {
    const bool above = exceeds(best_[i], cluster_.extent(std::nullopt).poorest_fair);
    return above ? fair(i) : best_[i];
  }

  // Gives a placed job its modest() demand and reduces jobs that hold more than their share. A
  // reduced job may take more memory while it releases CPUs, so several rounds may be needed. Each
  // round reduces at least one job, and when all are reduced, all shares fit.
  void take_back(std::uint32_t i) {
    const Demand want = modest(i);
    while (!grow(i, want)) {
      bool progress = false;
      if (ledger_.pooled()) {
        progress = reclaim(NodeId(0), i, of_demand(i, want, NodeId(0)));
      } else {
        for (const Share& part : asks_[i].given) {
          progress = reclaim(part.node, i, of_demand(i, want, part.node)) || progress;
        }
      }
      MUSTER_CHECK(progress);
    }
  }

  // Resources that a placed job would use on this node (or in the pool) with this demand.
  Resources of_demand(std::uint32_t i, const Demand& demand, NodeId node) const {
    Resources sum;
    for (const Share& share : asks_[i].given) {
      if (!ledger_.pooled() && share.node != node) continue;
      sum += demand.appetite(cluster_, share.node) * share.gpus();
    }
    return sum;
  }

  Demand fair(std::uint32_t i) const { return fair_demand(asks_[i]); }

  void settle(std::uint32_t i) {
    for (const Share& share : asks_[i].given) {
      ledger_.take(share);
      enlist(i, share.node);
    }
  }

  // Changes the CPU, memory and storage of a placed job on all its nodes, or on none.
  bool grow(std::uint32_t i, const Demand& demand) {
    Placement& given = asks_[i].given;
    std::int64_t cpu = 0;
    std::int64_t mem = 0;
    std::int64_t storage = 0;
    for (const Share& share : given) {
      const Resources want = demand.appetite(cluster_, share.node) * share.gpus();
      const ResourceLedger::Room& room = ledger_.room(share.node);
      if (!ledger_.pooled()) cpu = mem = storage = 0;  // A pool counts all shares together.
      cpu += want.cpu_milli - share.cpu_milli;
      mem += want.mem_mib - share.mem_mib;
      storage += want.storage_kbps - share.storage_kbps;
      if (!ledger_.pooled() || &share == &given.back()) {
        if (cpu > room.cpu_milli || mem > room.mem_mib || storage > room.storage_kbps) return false;
      }
    }
    for (const Share& share : given) ledger_.give_room(share);
    for (Share& share : given) {
      const Resources want = demand.appetite(cluster_, share.node) * share.gpus();
      share.cpu_milli = want.cpu_milli;
      share.mem_mib = want.mem_mib;
      share.storage_kbps = want.storage_kbps;
      ledger_.take_room(share);
    }
    return true;
  }

  // Jobs that use the same CPUs and memory as `node`: those on it, or all jobs in a pool.
  std::vector<std::uint32_t>& neighbors(NodeId node) {
    return on_node_[ledger_.pooled() ? NodeId(0) : node];
  }

  void enlist(std::uint32_t i, NodeId node) {
    std::vector<std::uint32_t>& list = neighbors(node);
    if (list.empty() || list.back() != i) list.push_back(i);  // Only once, also in a pool.
  }

  // Resources that a job holds on this node (or in the pool).
  Resources held_near(std::uint32_t i, NodeId node) const {
    Resources held;
    for (const Share& share : asks_[i].given) {
      if (!ledger_.pooled() && share.node != node) continue;
      held += {share.gpus(), share.cpu_milli, share.mem_mib, share.storage_kbps};
    }
    return held;
  }

  // Reduces jobs on `node` to their share until `new_job` could have `wanted` there. Order: jobs on
  // the fewest nodes first, then those with the most CPU per GPU. Returns true if a job was
  // reduced.
  bool reclaim(NodeId node, std::uint32_t new_job, const Resources& wanted) {
    const auto lacking = [](std::int64_t want, std::int64_t room) {
      return std::max<std::int64_t>(0, want - room);
    };
    const Resources own = asks_[new_job].given.empty() ? Resources() : held_near(new_job, node);
    const ResourceLedger::Room& room = ledger_.room(node);
    std::int64_t need_cpu = lacking(wanted.cpu_milli, room.cpu_milli + own.cpu_milli);
    std::int64_t need_mem = lacking(wanted.mem_mib, room.mem_mib + own.mem_mib);
    if (need_cpu == 0 && need_mem == 0) return false;
    victims_.clear();
    for (const std::uint32_t i : neighbors(node)) {
      if (i == new_job) continue;
      const Resources held = held_near(i, node);
      victims_.push_back({static_cast<std::int64_t>(asks_[i].given.size()),
                          -held.cpu_milli / held.gpus, -held.mem_mib / held.gpus, i});
    }
    std::sort(victims_.begin(), victims_.end());
    bool progress = false;
    // The published version reduces every job that it visits. Ours skips jobs that would not help.
    for (const Key& key : victims_) {
      if (need_cpu == 0 && need_mem == 0) break;
      const Resources held = held_near(key.ask, node);
      const Resources share = of_demand(key.ask, fair(key.ask), node);
      const std::int64_t cpu = lacking(held.cpu_milli, share.cpu_milli);
      const std::int64_t mem = lacking(held.mem_mib, share.mem_mib);
      const bool helps = (cpu > 0 && need_cpu > 0) || (mem > 0 && need_mem > 0);
      if (!helps && !published_) continue;
      need_cpu = lacking(need_cpu, cpu);
      need_mem = lacking(need_mem, mem);
      progress = fall_back(key.ask) || progress;
    }
    return progress;
  }

  bool fall_back(std::uint32_t i) {
    if (at_fair_[i]) return false;
    const Placement& given = asks_[i].given;
    const bool above = std::any_of(given.begin(), given.end(), [&](const Share& share) {
      return exceeds(best_[i], at_least(cluster_.fair(share.node), asks_[i].spec->least));
    });
    if (!above) return false;
    at_fair_[i] = true;
    // The share may include more memory than the best demand, and other jobs may hold it now. In
    // that case the job only releases what exceeds its share.
    if (grow(i, fair(i))) return true;
    Demand least = best_[i];
    const Resources share =
        at_least(cluster_.extent(std::nullopt).poorest_fair, asks_[i].spec->least);
    least.per_gpu->cpu_milli = std::min(least.per_gpu->cpu_milli, share.cpu_milli);
    least.per_gpu->mem_mib = std::min(least.per_gpu->mem_mib, share.mem_mib);
    MUSTER_CHECK(grow(i, least));
    return true;
  }

  // Chooses the nodes where jobs are reduced for a new job, as in the original.
  void reclaim_as_published(std::uint32_t i, const Demand& demand) {
    const std::size_t nodes = cluster_.topology().node_count();
    if (demand.gpus > 1) {
      for (std::size_t n = 0; n < nodes; ++n) {
        if (ledger_.free_gpus(NodeId(n)) < demand.gpus) continue;
        reclaim(NodeId(n), i, cluster_.fair(NodeId(n)) * demand.gpus);
        return;
      }
    }
    std::vector<std::pair<std::int32_t, NodeId>> by_free;
    for (std::size_t n = 0; n < nodes; ++n) {
      if (ledger_.free_gpus(NodeId(n)) > 0)
        by_free.emplace_back(ledger_.free_gpus(NodeId(n)), NodeId(n));
    }
    std::sort(by_free.begin(), by_free.end());
    std::int32_t left = demand.gpus;
    for (const auto& [free, node] : by_free) {
      if (left == 0) return;
      const std::int32_t here = std::min(left, free);
      reclaim(node, i, cluster_.fair(node) * here);
      left -= here;
    }
  }

  const Cluster& cluster_;
  const Placer& placer_;
  ResourceLedger& ledger_;
  std::span<Ask> asks_;
  bool published_;
  std::vector<Demand> best_;
  std::vector<bool> at_fair_;
  // All jobs with their guaranteed minimum; set only if a job requests CPU or memory.
  std::optional<ResourceLedger> rights_;
  IdVector<NodeId, std::vector<std::uint32_t>> on_node_;
  std::vector<Key> victims_;
};

}  // namespace

void Tune::place(const Cluster& cluster, const Placer& placer, const ResourceLedger& ledger,
                 Ask& ask) const {
  if (placer.place(cluster, ledger, best_demand(cluster, ask), ask.given)) return;
  placer.place(cluster, ledger, fair_demand(ask), ask.given);
}

void Tune::rebalance(const Cluster& cluster, const Placer& placer, ResourceLedger& ledger,
                     std::span<Ask> asks, Fidelity fidelity) {
  Tuning(cluster, placer, ledger, asks, fidelity).run();
}

}  // namespace muster
