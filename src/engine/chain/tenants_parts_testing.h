#pragma once

// For the tests of tenants: a policy, a mechanism and a placement that are as simple as possible.
// The policy ranks by the estimate, smaller first, so that a test says who is next with one number.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/chain/chain.h"

namespace muster::tenants_testing {

class ByNumber final : public Policy {
 public:
  explicit ByNumber(PolicyTraits traits) : traits_(traits) {}
  PolicyTraits traits() const override { return traits_; }
  Rank rank(const JobFacts& job) const override { return {job.estimate.us()}; }

 private:
  PolicyTraits traits_;
};

constexpr PolicyTraits kFitFirst = {PolicyTraits::WhenStuck::kSkip, false, false};
constexpr PolicyTraits kFifo = {PolicyTraits::WhenStuck::kWait, false, false};
constexpr PolicyTraits kPreempting = {PolicyTraits::WhenStuck::kSkip, true, false};

// As much of everything as the GPUs have beside them. An adaptive one leaves all where they are and
// finds places for the new ones only after the plan has chosen them by count.
class Even final : public Mechanism {
 public:
  explicit Even(bool adaptive) : adaptive_(adaptive) {}
  bool adaptive() const override { return adaptive_; }
  void place(const Cluster& cluster, const Placer& placer, const Books& books,
             Ask& ask) const override {
    Demand demand;
    demand.gpus = ask.spec->gpus;
    demand.gpu_type = ask.spec->gpu_type;
    placer.place(cluster, books, demand, ask.given);
  }
  void rebalance(const Cluster& cluster, const Placer& placer, Books& books, std::span<Ask> asks,
                 Fidelity) override {
    const auto take = [&](const Ask& ask) {
      for (const Share& share : ask.given) books.take(share);
    };
    for (Ask& ask : asks) {
      if (ask.held != nullptr) take((ask.given = *ask.held, ask));
    }
    for (Ask& ask : asks) {
      if (ask.held != nullptr) continue;
      place(cluster, placer, books, ask);
      take(ask);
    }
  }

 private:
  bool adaptive_;
};

// The lowest free GPUs; `strict`: of the first server with room for the whole gang.
class Lowest final : public Placer {
 public:
  explicit Lowest(bool strict) : strict_(strict) {}
  bool place(const Cluster& cluster, const Books& books, const Demand& demand,
             Placement& out) const override {
    out.clear();
    std::int32_t left = demand.gpus;
    for (std::size_t i = 0; i < cluster.topology().node_count() && left > 0; ++i) {
      const std::int32_t free = books.free_gpus(NodeId(i));
      if (free == 0 || (strict_ && free < left)) continue;
      out.push_back(make_share(cluster, books, demand, NodeId(i), std::min(left, free)));
      left -= out.back().gpus();
    }
    if (left > 0) out.clear();
    return left == 0;
  }

 private:
  bool strict_;
};

}  // namespace muster::tenants_testing
