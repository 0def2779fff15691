#include "engine/mechanism/tune.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/types/check.h"
#include "engine/core/guaranteed_ledger.h"
#include "engine/mechanism/demand.h"
#include "engine/mechanism/raise.h"
#include "engine/mechanism/tune_allocation.h"

namespace muster {

namespace {

constexpr double kMinMoveGain = 1.5;  // A move costs a checkpoint and a restart.
constexpr double kMinGain = 1e-9;     // Per thousandth of a CPU; less is rounding.

// One rebalance: the placements and resources of all jobs in the scratch ledger.
class Tuning {
 public:
  Tuning(const Cluster& cluster, const Placer& placer, ResourceLedger& ledger, std::span<Ask> asks)
      : cluster_(cluster),
        placer_(placer),
        ledger_(ledger),
        asks_(asks),
        all_(cluster, ledger, asks) {}

  void run() {
    if (is_particular() && !enter_rights()) return keep_as_held();
    std::vector<Key> order;
    order.reserve(asks_.size());
    for (std::uint32_t i = 0; i < asks_.size(); ++i) {
      const Resources each = all_.best(i).appetite(cluster_, NodeId(0));
      const std::int64_t gpus = all_.best(i).gpus;
      order.push_back({-gpus, -each.cpu_milli * gpus, -each.mem_mib * gpus, i});
      if (asks_[i].held != nullptr) hold_slots(i);
    }
    std::sort(order.begin(), order.end());
    for (const Key& key : order) serve(key.ask);
    if (ledger_.pooled()) return;
    if (!rights_) {
      for (const Key& key : order) move_if_faster(key.ask);
    }
    for (std::size_t n = 0; n < cluster_.topology().node_count(); ++n) share_rest(NodeId(n));
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
    if (ask.held == nullptr || ask.must_stay || ask.given.size() != 1 || !all_.at_fair(i)) return;
    if (all_.grow(i, all_.best(i))) return;
    Placement there;
    if (!placer_.place(cluster_, ledger_, all_.best(i), there) || there.size() != 1) return;
    const double here = cluster_.speed(*ask.spec, ask.given);
    if (cluster_.speed(*ask.spec, there) < here * kMinMoveGain) return;
    all_.release(i);
    ask.given = std::move(there);
    all_.set_at_fair(i, false);
    all_.settle(i);
  }

  // Gives the CPUs that are left on a node to the jobs that gain the most speed from them.
  void share_rest(NodeId node) {
    while (ledger_.room(node).cpu_milli > 0) {
      Raise best;
      for (const std::uint32_t i : all_.neighbors(node)) {
        if (asks_[i].given.size() != 1) continue;
        Raise raise =
            best_raise(cluster_.profile(*asks_[i].spec), asks_[i].given.front(), ledger_.room(node),
                       all_.of_demand(i, all_.best(i), node).cpu_milli);
        raise.ask = i;
        if (raise.gain > best.gain) best = raise;
      }
      if (best.gain <= kMinGain) return;
      Demand demand = all_.best(best.ask);
      demand.per_gpu = best.per_gpu;
      if (!all_.grow(best.ask, demand)) return;
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
    if (placer_.place(cluster_, ledger_, all_.best(i), ask.given) && enter(ask, ask.given)) {
      return all_.settle(i);
    }
    if (!placer_.place(cluster_, *rights_, all_.fair(i), ask.given)) return;
    enter(ask, ask.given);
    for (Share& share : ask.given) share.cpu_milli = share.mem_mib = share.storage_kbps = 0;
    all_.settle(i);
    if (all_.grow(i, all_.best(i))) return;
    all_.set_at_fair(i, true);
    take_back(i);
  }

  // A running job keeps its GPUs. Its CPU and memory are allocated again.
  void hold_slots(std::uint32_t i) {
    asks_[i].given = *asks_[i].held;
    for (Share& share : asks_[i].given) share.cpu_milli = share.mem_mib = share.storage_kbps = 0;
    all_.settle(i);
  }

  void serve(std::uint32_t i) {
    Ask& ask = asks_[i];
    if (!ask.given.empty()) {
      if (all_.grow(i, all_.best(i))) return;
      all_.set_at_fair(i, true);
      return take_back(i);
    }
    if (all_.best(i).gpus > ledger_.free_gpus()) return;
    if (rights_) return serve_within_rights(i);
    if (placer_.place(cluster_, ledger_, all_.best(i), ask.given)) return all_.settle(i);
    if (cluster_.topology().uniform() && place_between(i)) return all_.settle(i);
    all_.set_at_fair(i, true);
    const Demand share = all_.modest(i);
    if (placer_.place(cluster_, ledger_, share, ask.given)) return all_.settle(i);
    // Choose a place by GPUs only. The other jobs there then release what exceeds their share.
    Demand bare = share;
    bare.per_gpu = Resources{1, 0, 0, 0};
    if (!placer_.place(cluster_, ledger_, bare, ask.given)) return;
    all_.settle(i);
    take_back(i);
  }

  // Places a job with the largest number of CPUs between its share and its best demand that a node
  // has left. Otherwise a job that gains from CPUs could get a node without any to spare.
  bool place_between(std::uint32_t i) {
    const std::vector<std::int64_t>& points = cluster_.profile(*asks_[i].spec).cpu_points();
    const Demand share = all_.modest(i);
    const std::int64_t least = share.appetite(cluster_, NodeId(0)).cpu_milli;
    Demand between = all_.best(i);
    if (!between.per_gpu) return false;
    for (auto point = points.rbegin(); point != points.rend() && *point > least; ++point) {
      if (*point >= all_.best(i).per_gpu->cpu_milli) continue;
      between.per_gpu->cpu_milli = *point;
      if (placer_.place(cluster_, ledger_, between, asks_[i].given)) return true;
    }
    return false;
  }

  // Gives a placed job its modest() demand and reduces jobs that hold more than their share. A
  // reduced job may take more memory while it releases CPUs, so several rounds may be needed. Each
  // round reduces at least one job, and when all are reduced, all shares fit.
  void take_back(std::uint32_t i) {
    const Demand want = all_.modest(i);
    while (!all_.grow(i, want)) {
      bool progress = false;
      if (ledger_.pooled()) {
        progress = reclaim(NodeId(0), i, all_.of_demand(i, want, NodeId(0)));
      } else {
        for (const Share& part : asks_[i].given) {
          progress = reclaim(part.node, i, all_.of_demand(i, want, part.node)) || progress;
        }
      }
      MUSTER_CHECK(progress);
    }
  }

  // The other jobs near `node`. The job that is last in the order of the policy is reduced first.
  std::vector<std::uint32_t> last_first(NodeId node, std::uint32_t i) const {
    std::vector<std::uint32_t> jobs = all_.neighbors(node);
    std::erase(jobs, i);
    std::sort(jobs.begin(), jobs.end(), [this](std::uint32_t a, std::uint32_t b) {
      const RankedJob left{asks_[a].job, asks_[a].rank};
      return goes_before({asks_[b].job, asks_[b].rank}, left, Instant());
    });
    return jobs;
  }

  // Reduces jobs near `node` to their share until job i could have `wanted` there. Skips jobs that
  // would not help. Returns true if a job was reduced.
  bool reclaim(NodeId node, std::uint32_t i, const Resources& wanted) {
    Resources need = all_.lack(i, node, wanted);
    if (need.cpu_milli == 0 && need.mem_mib == 0) return false;
    bool progress = false;
    for (const std::uint32_t other : last_first(node, i)) {
      if (need.cpu_milli == 0 && need.mem_mib == 0) break;
      const Resources above = all_.above_share(other, node);
      const bool helps =
          (above.cpu_milli > 0 && need.cpu_milli > 0) || (above.mem_mib > 0 && need.mem_mib > 0);
      if (!helps) continue;
      need.cpu_milli = std::max<std::int64_t>(0, need.cpu_milli - above.cpu_milli);
      need.mem_mib = std::max<std::int64_t>(0, need.mem_mib - above.mem_mib);
      progress = all_.reduce(other) || progress;
    }
    return progress;
  }

  const Cluster& cluster_;
  const Placer& placer_;
  ResourceLedger& ledger_;
  std::span<Ask> asks_;
  TuneAllocation all_;
  // All jobs with their guaranteed minimum; set only if a job requests CPU or memory.
  std::optional<ResourceLedger> rights_;
};

}  // namespace

void Tune::place(const Cluster& cluster, const Placer& placer, const ResourceLedger& ledger,
                 Ask& ask) const {
  if (placer.place(cluster, ledger, best_demand(cluster, ask), ask.given)) return;
  placer.place(cluster, ledger, fair_demand(ask), ask.given);
}

void Tune::rebalance(const Cluster& cluster, const Placer& placer, ResourceLedger& ledger,
                     std::span<Ask> asks) {
  Tuning(cluster, placer, ledger, asks).run();
}

}  // namespace muster
