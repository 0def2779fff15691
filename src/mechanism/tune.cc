#include "mechanism/tune.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "mechanism/demand.h"

namespace muster {

namespace {

// One rebalance: who is where on the scratch books, and with how much.
class Tuning {
 public:
  Tuning(const Cluster& cluster, const Placer& placer, Books& books, std::span<Ask> asks,
         Fidelity fidelity)
      : cluster_(cluster),
        placer_(placer),
        books_(books),
        asks_(asks),
        published_(fidelity == Fidelity::kPublished),
        best_(asks.size()),
        at_fair_(asks.size()),
        on_node_(cluster.topology().node_count()) {}

  void run() {
    std::vector<Key> order;
    order.reserve(asks_.size());
    for (std::uint32_t i = 0; i < asks_.size(); ++i) {
      best_[i] = best_demand(cluster_, *asks_[i].spec, asks_[i].salt);
      const Resources& each = best_[i].appetite(cluster_, NodeId(0));
      const std::int64_t gpus = best_[i].gpus;
      order.push_back({-gpus, -each.cpu_milli * gpus, -each.mem_mib * gpus, i});
      if (asks_[i].held != nullptr) hold_slots(i);
    }
    if (!published_) std::sort(order.begin(), order.end());
    for (const Key& key : order) serve(key.ask);
  }

 private:
  struct Key {  // Large demands first, then in the order asked.
    std::int64_t gpus, cpu_milli, mem_mib;
    std::uint32_t ask;
    auto operator<=>(const Key&) const = default;
  };

  // A running job keeps its GPUs; its CPU and memory are dealt out anew.
  void hold_slots(std::uint32_t i) {
    asks_[i].given = *asks_[i].held;
    for (Share& share : asks_[i].given) {
      share.cpu_milli = share.mem_mib = share.storage_kbps = 0;
      books_.take(share);
      enlist(i, share.node);
    }
  }

  void serve(std::uint32_t i) {
    Ask& ask = asks_[i];
    if (!ask.given.empty()) {
      if (grow(i, best_[i])) return;
      at_fair_[i] = true;
      if (grow(i, fair(i))) return;
      for (const Share& share : ask.given) reclaim(share.node, i, share.gpus());
      MUSTER_CHECK(grow(i, fair(i)));
      return;
    }
    if (best_[i].gpus > books_.free_gpus()) return;
    if (placer_.place(cluster_, books_, best_[i], ask.given)) return settle(i);
    at_fair_[i] = true;
    const Demand share = exceeds(best_[i], cluster_.poorest_fair()) ? fair(i) : best_[i];
    if (placer_.place(cluster_, books_, share, ask.given)) return settle(i);
    if (published_) {
      reclaim_as_published(i, share);
      if (placer_.place(cluster_, books_, share, ask.given)) settle(i);
      return;
    }
    // Where would it go if only GPUs counted? There the others give back what is above their share.
    Demand bare = share;
    bare.per_gpu = Resources{1, 0, 0, 0};
    if (!placer_.place(cluster_, books_, bare, ask.given)) return;
    settle(i);
    for (const Share& part : ask.given) reclaim(part.node, i, part.gpus());
    MUSTER_CHECK(grow(i, fair(i)));
  }

  Demand fair(std::uint32_t i) const { return fair_demand(*asks_[i].spec, asks_[i].salt); }

  void settle(std::uint32_t i) {
    for (const Share& share : asks_[i].given) {
      books_.take(share);
      enlist(i, share.node);
    }
  }

  // Changes what a placed job holds beside its GPUs, on all its servers or not at all.
  bool grow(std::uint32_t i, const Demand& demand) {
    Placement& given = asks_[i].given;
    for (const Share& share : given) {
      const Resources& each = demand.appetite(cluster_, share.node);
      const std::int64_t gpus = share.gpus();
      const Books::Room& room = books_.room(share.node);
      if (each.cpu_milli * gpus > room.cpu_milli + share.cpu_milli ||
          each.mem_mib * gpus > room.mem_mib + share.mem_mib ||
          each.storage_kbps * gpus > room.storage_kbps + share.storage_kbps) {
        return false;
      }
    }
    for (Share& share : given) {
      const Resources& each = demand.appetite(cluster_, share.node);
      const std::int64_t gpus = share.gpus();
      books_.give(share);
      share.cpu_milli = each.cpu_milli * gpus;
      share.mem_mib = each.mem_mib * gpus;
      share.storage_kbps = each.storage_kbps * gpus;
      books_.take(share);
    }
    return true;
  }

  // Jobs that draw on the same CPUs and memory as `node`: those on it, or all of them when pooled.
  std::vector<std::uint32_t>& neighbours(NodeId node) {
    return on_node_[books_.pooled() ? NodeId(0) : node];
  }

  void enlist(std::uint32_t i, NodeId node) {
    std::vector<std::uint32_t>& list = neighbours(node);
    if (list.empty() || list.back() != i) list.push_back(i);  // Once, also when pooled.
  }

  // What a job holds of that.
  Resources held_near(std::uint32_t i, NodeId node) const {
    Resources held;
    for (const Share& share : asks_[i].given) {
      if (!books_.pooled() && share.node != node) continue;
      held += {share.gpus(), share.cpu_milli, share.mem_mib, share.storage_kbps};
    }
    return held;
  }

  // Makes jobs on `node` fall back to their share until `gpus` more GPUs of `newcomer` could have
  // theirs: first those on the fewest servers, of those the ones with the most CPU a GPU.
  void reclaim(NodeId node, std::uint32_t newcomer, std::int32_t gpus) {
    const Resources& fair_here = cluster_.fair(node);
    const auto lacking = [&](std::int64_t each, std::int64_t room) {
      return std::max<std::int64_t>(0, each * gpus - room);
    };
    struct Need {
      std::int64_t cpu_milli, mem_mib;
    };
    const Books::Room& room = books_.room(node);
    Need need{lacking(fair_here.cpu_milli, room.cpu_milli),
              lacking(fair_here.mem_mib, room.mem_mib)};
    victims_.clear();
    if (need.cpu_milli == 0 && need.mem_mib == 0) return;
    for (const std::uint32_t i : neighbours(node)) {
      if (i == newcomer) continue;
      const Resources held = held_near(i, node);
      victims_.push_back({static_cast<std::int64_t>(asks_[i].given.size()),
                          -held.cpu_milli / held.gpus, -held.mem_mib / held.gpus, i});
    }
    std::sort(victims_.begin(), victims_.end());
    // The published walk marks whoever it passes; ours leaves those alone who would not help.
    for (const Key& key : victims_) {
      if (need.cpu_milli == 0 && need.mem_mib == 0) return;
      const Resources held = held_near(key.ask, node);
      const std::int64_t cpu =
          std::max<std::int64_t>(0, held.cpu_milli - fair_here.cpu_milli * held.gpus);
      const std::int64_t mem =
          std::max<std::int64_t>(0, held.mem_mib - fair_here.mem_mib * held.gpus);
      const bool helps = (cpu > 0 && need.cpu_milli > 0) || (mem > 0 && need.mem_mib > 0);
      if (!helps && !published_) continue;
      need.cpu_milli = std::max<std::int64_t>(0, need.cpu_milli - cpu);
      need.mem_mib = std::max<std::int64_t>(0, need.mem_mib - mem);
      fall_back(key.ask);
    }
  }

  void fall_back(std::uint32_t i) {
    if (at_fair_[i]) return;
    const Placement& given = asks_[i].given;
    const bool above = std::any_of(given.begin(), given.end(), [&](const Share& share) {
      return exceeds(best_[i], cluster_.fair(share.node));
    });
    if (!above) return;
    at_fair_[i] = true;
    // More memory than the ideal may be part of the share, and others may hold it just now: then
    // only what is above the share is given up.
    if (grow(i, fair(i))) return;
    Demand least = best_[i];
    const Resources& share = cluster_.poorest_fair();
    least.per_gpu->cpu_milli = std::min(least.per_gpu->cpu_milli, share.cpu_milli);
    least.per_gpu->mem_mib = std::min(least.per_gpu->mem_mib, share.mem_mib);
    MUSTER_CHECK(grow(i, least));
  }

  // Whose servers pay for a newcomer, as the original chooses them.
  void reclaim_as_published(std::uint32_t i, const Demand& demand) {
    const std::size_t nodes = cluster_.topology().node_count();
    if (demand.gpus > 1) {
      for (std::size_t n = 0; n < nodes; ++n) {
        if (books_.free_gpus(NodeId(n)) >= demand.gpus) return reclaim(NodeId(n), i, demand.gpus);
      }
    }
    std::vector<std::pair<std::int32_t, NodeId>> by_free;
    for (std::size_t n = 0; n < nodes; ++n) {
      if (books_.free_gpus(NodeId(n)) > 0)
        by_free.emplace_back(books_.free_gpus(NodeId(n)), NodeId(n));
    }
    std::sort(by_free.begin(), by_free.end());
    std::int32_t left = demand.gpus;
    for (const auto& [free, node] : by_free) {
      if (left == 0) return;
      const std::int32_t here = std::min(left, free);
      reclaim(node, i, here);
      left -= here;
    }
  }

  const Cluster& cluster_;
  const Placer& placer_;
  Books& books_;
  std::span<Ask> asks_;
  bool published_;
  std::vector<Demand> best_;
  std::vector<bool> at_fair_;
  IdVector<NodeId, std::vector<std::uint32_t>> on_node_;
  std::vector<Key> victims_;
};

}  // namespace

void Tune::place(const Cluster& cluster, const Placer& placer, const Books& books, Ask& ask) const {
  if (placer.place(cluster, books, best_demand(cluster, *ask.spec, ask.salt), ask.given)) return;
  placer.place(cluster, books, fair_demand(*ask.spec, ask.salt), ask.given);
}

void Tune::rebalance(const Cluster& cluster, const Placer& placer, Books& books,
                     std::span<Ask> asks, Fidelity fidelity) {
  Tuning(cluster, placer, books, asks, fidelity).run();
}

}  // namespace muster
