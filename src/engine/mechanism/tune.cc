#include "engine/mechanism/tune.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/types/check.h"
#include "engine/core/least_books.h"
#include "engine/mechanism/demand.h"

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
  }

 private:
  struct Key {  // Large demands first, then in the order asked.
    std::int64_t gpus, cpu_milli, mem_mib;
    std::uint32_t ask;
    auto operator<=>(const Key&) const = default;
  };

  bool is_particular() const {
    return std::any_of(asks_.begin(), asks_.end(),
                       [](const Ask& ask) { return ask.spec->has_least(); });
  }

  // Where jobs ask for CPU and memory, what all have a right to may be more than a server has. Then
  // newcomers go only where it is not, so that what is promised can always be given.
  bool enter_rights() {
    rights_.emplace(books_);
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

  // They run together, but were not placed by these rules (another mechanism's, before a restart):
  // nobody is touched, and newcomers get what is really free.
  void keep_as_held() {
    for (Ask& ask : asks_) {
      if (ask.held == nullptr || !books_.can_return(*ask.held)) continue;
      ask.given = *ask.held;
      for (const Share& share : ask.given) books_.take(share);
    }
    for (Ask& ask : asks_) {
      if (ask.held != nullptr) continue;
      Tune().place(cluster_, placer_, books_, ask);
      for (const Share& share : ask.given) books_.take(share);
    }
  }

  // A newcomer, where all have room for what they have a right to: by its ideal if that is such a
  // place, otherwise by its right alone.
  void serve_within_rights(std::uint32_t i) {
    Ask& ask = asks_[i];
    if (placer_.place(cluster_, books_, best_[i], ask.given) && enter(ask, ask.given)) {
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
      return take_back(i);
    }
    if (best_[i].gpus > books_.free_gpus()) return;
    if (rights_) return serve_within_rights(i);
    if (placer_.place(cluster_, books_, best_[i], ask.given)) return settle(i);
    at_fair_[i] = true;
    const Demand share = modest(i);
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
    take_back(i);
  }

  // What is nobody else's business: its share, or its ideal if that is no more of anything. One who
  // is as fast with less must not take the rest from those who gain by it.
  Demand modest(std::uint32_t i) const {
    const bool above = exceeds(best_[i], cluster_.extent(std::nullopt).poorest_fair);
    return above ? fair(i) : best_[i];
  }

  // Gives a placed job that, at the cost of those who hold more than their share. One who falls
  // back may take more memory than before while giving up CPUs, so it may need more than one turn;
  // but each turn somebody falls back, and when all have, everybody's share fits.
  void take_back(std::uint32_t i) {
    const Demand want = modest(i);
    while (!grow(i, want)) {
      bool progress = false;
      if (books_.pooled()) {
        progress = reclaim(NodeId(0), i, of_demand(i, want, NodeId(0)));
      } else {
        for (const Share& part : asks_[i].given) {
          progress = reclaim(part.node, i, of_demand(i, want, part.node)) || progress;
        }
      }
      MUSTER_CHECK(progress);
    }
  }

  // What a placed job would have, by that demand, of what it draws on near this node.
  Resources of_demand(std::uint32_t i, const Demand& demand, NodeId node) const {
    Resources sum;
    for (const Share& share : asks_[i].given) {
      if (!books_.pooled() && share.node != node) continue;
      sum += demand.appetite(cluster_, share.node) * share.gpus();
    }
    return sum;
  }

  Demand fair(std::uint32_t i) const { return fair_demand(asks_[i]); }

  void settle(std::uint32_t i) {
    for (const Share& share : asks_[i].given) {
      books_.take(share);
      enlist(i, share.node);
    }
  }

  // Changes what a placed job holds beside its GPUs, on all its servers or not at all.
  bool grow(std::uint32_t i, const Demand& demand) {
    Placement& given = asks_[i].given;
    std::int64_t cpu = 0;
    std::int64_t mem = 0;
    std::int64_t storage = 0;
    for (const Share& share : given) {
      const Resources want = demand.appetite(cluster_, share.node) * share.gpus();
      const Books::Room& room = books_.room(share.node);
      if (!books_.pooled()) cpu = mem = storage = 0;  // Otherwise all draw on the same room.
      cpu += want.cpu_milli - share.cpu_milli;
      mem += want.mem_mib - share.mem_mib;
      storage += want.storage_kbps - share.storage_kbps;
      if (!books_.pooled() || &share == &given.back()) {
        if (cpu > room.cpu_milli || mem > room.mem_mib || storage > room.storage_kbps) return false;
      }
    }
    for (const Share& share : given) books_.give(share);
    for (Share& share : given) {
      const Resources want = demand.appetite(cluster_, share.node) * share.gpus();
      share.cpu_milli = want.cpu_milli;
      share.mem_mib = want.mem_mib;
      share.storage_kbps = want.storage_kbps;
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

  // Makes jobs near `node` fall back to their share until `newcomer` could have `wanted` there:
  // first those on the fewest servers, of those the ones with the most CPU a GPU. True if anybody
  // did.
  bool reclaim(NodeId node, std::uint32_t newcomer, const Resources& wanted) {
    const auto lacking = [](std::int64_t want, std::int64_t room) {
      return std::max<std::int64_t>(0, want - room);
    };
    const Resources own = asks_[newcomer].given.empty() ? Resources() : held_near(newcomer, node);
    const Books::Room& room = books_.room(node);
    std::int64_t need_cpu = lacking(wanted.cpu_milli, room.cpu_milli + own.cpu_milli);
    std::int64_t need_mem = lacking(wanted.mem_mib, room.mem_mib + own.mem_mib);
    if (need_cpu == 0 && need_mem == 0) return false;
    victims_.clear();
    for (const std::uint32_t i : neighbours(node)) {
      if (i == newcomer) continue;
      const Resources held = held_near(i, node);
      victims_.push_back({static_cast<std::int64_t>(asks_[i].given.size()),
                          -held.cpu_milli / held.gpus, -held.mem_mib / held.gpus, i});
    }
    std::sort(victims_.begin(), victims_.end());
    bool progress = false;
    // The published walk marks whoever it passes; ours leaves those alone who would not help.
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
    // More memory than the ideal may be part of the share, and others may hold it just now: then
    // only what is above the share is given up.
    if (grow(i, fair(i))) return true;
    Demand least = best_[i];
    const Resources share =
        at_least(cluster_.extent(std::nullopt).poorest_fair, asks_[i].spec->least);
    least.per_gpu->cpu_milli = std::min(least.per_gpu->cpu_milli, share.cpu_milli);
    least.per_gpu->mem_mib = std::min(least.per_gpu->mem_mib, share.mem_mib);
    MUSTER_CHECK(grow(i, least));
    return true;
  }

  // Whose servers pay for a newcomer, as the original chooses them.
  void reclaim_as_published(std::uint32_t i, const Demand& demand) {
    const std::size_t nodes = cluster_.topology().node_count();
    if (demand.gpus > 1) {
      for (std::size_t n = 0; n < nodes; ++n) {
        if (books_.free_gpus(NodeId(n)) < demand.gpus) continue;
        reclaim(NodeId(n), i, cluster_.fair(NodeId(n)) * demand.gpus);
        return;
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
      reclaim(node, i, cluster_.fair(node) * here);
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
  std::optional<Books> rights_;  // Where jobs ask for CPU or memory: all with their right.
  IdVector<NodeId, std::vector<std::uint32_t>> on_node_;
  std::vector<Key> victims_;
};

}  // namespace

void Tune::place(const Cluster& cluster, const Placer& placer, const Books& books, Ask& ask) const {
  if (placer.place(cluster, books, best_demand(cluster, ask), ask.given)) return;
  placer.place(cluster, books, fair_demand(ask), ask.given);
}

void Tune::rebalance(const Cluster& cluster, const Placer& placer, Books& books,
                     std::span<Ask> asks, Fidelity fidelity) {
  Tuning(cluster, placer, books, asks, fidelity).run();
}

}  // namespace muster
