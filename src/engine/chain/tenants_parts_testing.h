#pragma once

// For tests of tenants: a minimal policy, mechanism and placement. The policy ranks by the
// estimate, smaller first, so that a test sets the order with one number.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/chain/composed_planner.h"

namespace muster::tenants_testing {

class ByNumber final : public Policy {
 public:
  explicit ByNumber(PolicyTraits traits) : traits_(traits) {}
  PolicyTraits traits() const override { return traits_; }
  Rank rank(const JobFacts& job) const override { return {job.estimate.us()}; }

 private:
  PolicyTraits traits_;
};

constexpr PolicyTraits kFitFirst = {PolicyTraits::BlockedHeadRule::kSkip, false, false};
constexpr PolicyTraits kFifo = {PolicyTraits::BlockedHeadRule::kWait, false, false};
constexpr PolicyTraits kPreempting = {PolicyTraits::BlockedHeadRule::kSkip, true, false};

// Gives each GPU its proportional share. If adaptive, it keeps running jobs where they are, and
// places new jobs only after the plan has selected them by count.
class Even final : public Mechanism {
 public:
  explicit Even(bool adaptive) : adaptive_(adaptive) {}
  bool adaptive() const override { return adaptive_; }
  void place(const Cluster& cluster, const Placer& placer, const ResourceLedger& ledger,
             Ask& ask) const override {
    Demand demand;
    demand.gpus = ask.spec->gpus;
    demand.gpu_type = ask.spec->gpu_type;
    placer.place(cluster, ledger, demand, ask.given);
  }
  void rebalance(const Cluster& cluster, const Placer& placer, ResourceLedger& ledger,
                 std::span<Ask> asks) override {
    const auto take = [&](const Ask& ask) {
      for (const Share& share : ask.given) ledger.take(share);
    };
    for (Ask& ask : asks) {
      if (ask.held != nullptr) take((ask.given = *ask.held, ask));
    }
    for (Ask& ask : asks) {
      if (ask.held != nullptr) continue;
      place(cluster, placer, ledger, ask);
      take(ask);
    }
  }

 private:
  bool adaptive_;
};

// Uses the lowest free GPUs; if `strict`, those of the first node with room for the whole gang.
class Lowest final : public Placer {
 public:
  explicit Lowest(bool strict) : strict_(strict) {}
  bool place(const Cluster& cluster, const ResourceLedger& ledger, const Demand& demand,
             Placement& out) const override {
    out.clear();
    std::int32_t left = demand.gpus;
    for (std::size_t i = 0; i < cluster.topology().node_count() && left > 0; ++i) {
      const std::int32_t free = ledger.free_gpus(NodeId(i));
      if (free == 0 || (strict_ && free < left)) continue;
      out.push_back(make_share(cluster, ledger, demand, NodeId(i), std::min(left, free)));
      left -= out.back().gpus();
    }
    if (left > 0) out.clear();
    return left == 0;
  }

 private:
  bool strict_;
};

}  // namespace muster::tenants_testing
