#pragma once

// Test helper for policies: a small cluster where every order takes effect immediately and a job
// may use any free GPUs.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/chain/composed_planner.h"
#include "engine/chain/composed_planner_testing.h"
#include "engine/core/engine.h"
#include "engine/core/world_testing.h"
#include "engine/policy/registry.h"

namespace muster {

class Anywhere final : public Placer {
 public:
  bool place(const Cluster& cluster, const ResourceLedger& ledger, const Demand& demand,
             Placement& out) const override {
    out.clear();
    std::int32_t left = demand.gpus;
    if (left > ledger.free_gpus()) return false;
    for (NodeId node = ledger.next_with_free(NodeId(0)); left > 0;
         node = ledger.next_with_free(NodeId(node.index() + 1))) {
      const std::int32_t here = std::min(left, ledger.free_gpus(node));
      out.push_back(make_share(cluster, ledger, demand, node, here));
      left -= here;
    }
    return true;
  }
};

// An engine with one policy on a small cluster.
class World {
 public:
  World(std::string_view policy, std::string_view shorthand, const PolicyOptions& options = {})
      : topology_(parse_cluster_shorthand(shorthand).value()),
        cluster_(topology_, profiles_),
        engine_(cluster_,
                std::make_unique<ComposedPlanner>(
                    cluster_, find_entry(policies(), "policy", policy).value()->make(options),
                    std::make_unique<FairShare>(), std::make_unique<Anywhere>(),
                    ComposedPlannerOptions()),
                EngineOptions()) {}

  // Applies events at this second and returns the actions, such as "stop 0, start 1".
  std::string at(std::int64_t second, std::vector<Event> events) {
    const Instant now = muster::second(second);
    if (wake_ == now) events.push_back(TimerFired{});
    std::string text;
    carry_out(engine_, now, std::move(events), [&](const Action& action) {
      const std::string number = std::to_string(action.job.index());
      if (action.kind == Action::Kind::kStart) text += ", start " + number;
      if (action.kind == Action::Kind::kStop) text += ", stop " + number;
      if (action.kind == Action::Kind::kWakeAt) wake_ = action.at;
    });
    return text.empty() ? text : text.substr(2);
  }
  Instant wake() const { return wake_; }

 private:
  Topology topology_;
  ProfileTable profiles_;
  Cluster cluster_;
  Engine engine_;
  Instant wake_ = Instant::never();
};

inline PolicyOptions queues(std::vector<std::int64_t> seconds, std::int64_t promote_permille = 0) {
  PolicyOptions options;
  options.thresholds.clear();
  for (const std::int64_t threshold : seconds) {
    options.thresholds.push_back(Duration::seconds(threshold));
  }
  options.promote_permille = promote_permille;
  return options;
}

// Samples in GPU-seconds.
inline ServiceDistribution seconds(std::vector<std::int64_t> samples) {
  for (std::int64_t& sample : samples) sample *= 1'000'000;
  return ServiceDistribution(std::move(samples));
}

// Compares two ranks without slope: negative, zero or positive.
inline int order(const Rank& a, const Rank& b) { return compare(a, b, Instant()); }

}  // namespace muster
