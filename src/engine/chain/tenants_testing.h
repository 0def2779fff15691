#pragma once

// For tests of tenants: a small cluster that executes every action immediately.
// tenants_parts_testing.h has its policy, mechanism and placement.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/chain/composed_planner.h"
#include "engine/chain/tenants_parts_testing.h"
#include "engine/core/engine.h"
#include "engine/core/world_testing.h"

namespace muster::tenants_testing {

struct Setting {
  PolicyTraits policy = kFitFirst;
  bool strict = false;  // Each gang must fit on one node.
  bool adaptive = false;
  std::int64_t min_run = 0;  // In seconds, like all times here.
  std::int64_t checkpoint_interval = 300;
};

// By quota: "lab 6, lab/vision 4, other 4"; otherwise the numbers are weights.
inline TenantTree tenants(std::string_view text, Sharing sharing = Sharing::kQuota,
                          std::int32_t reclaim_permille = 900) {
  TenantList list;
  list.rules = {sharing, reclaim_permille};
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(", "));
    text.remove_prefix(std::min(text.size(), one.size() + 2));
    const std::size_t blank = one.find(' ');
    std::string_view name = one.substr(0, blank);
    TenantSpec spec;
    if (const std::size_t slash = name.find('/'); slash != std::string_view::npos) {
      spec.parent = name.substr(0, slash);
      name.remove_prefix(slash + 1);
    }
    spec.name = name;
    const int number = std::stoi(std::string(one.substr(blank + 1)));
    if (sharing == Sharing::kQuota) spec.quota = number;
    if (sharing == Sharing::kWeight) spec.weight_milli = number * 1000;
    list.tenants.push_back(spec);
  }
  return TenantTree::build(list).value();
}

class World {
 public:
  World(std::string_view cluster, TenantTree tree, const Setting& setting = {})
      : topology_(parse_cluster_shorthand(cluster).value()),
        cluster_(topology_, profiles_),
        tree_(std::move(tree)),
        engine_(cluster_,
                std::make_unique<ComposedPlanner>(
                    cluster_, std::make_unique<ByNumber>(setting.policy),
                    std::make_unique<Even>(setting.adaptive),
                    std::make_unique<Lowest>(setting.strict), options(setting)),
                EngineOptions()) {}
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  JobSubmitted job(std::string_view tenant, std::int32_t gpus, std::int64_t rank = 1,
                   int user = 0) const {
    JobSpec spec;
    spec.tenant = *tree_.find(tenant);
    spec.user = UserId(user);
    spec.gpus = gpus;
    spec.estimate = Duration::seconds(rank);
    return {spec};
  }
  static LeaseEnded end(std::uint32_t job, Epoch epoch = 1) { return completed(job, epoch); }

  // Returns the actions: "stop 1, start 2 on s0+s1".
  std::string at(std::int64_t second, std::vector<Event> events) {
    const Instant now = Instant::at(Duration::seconds(second));
    if (wake_ <= now) events.push_back(TimerFired{});
    std::string text;
    carry_out(engine_, now, std::move(events), [&](const Action& action) {
      const std::string number = std::to_string(action.job.index());
      if (action.kind == Action::Kind::kStart) {
        text += ", start " + number + " on " + where(action.job);
      }
      if (action.kind == Action::Kind::kStop) text += ", stop " + number;
      if (action.kind == Action::Kind::kWakeAt) wake_ = action.at;
    });
    return text.empty() ? text : text.substr(2);
  }

  // The wake-up time in seconds; -1: none.
  std::int64_t wake() const {
    return wake_ == Instant::never() ? -1 : wake_.us() / Duration::seconds(1).us();
  }
  const Engine& engine() const { return engine_; }

 private:
  ComposedPlannerOptions options(const Setting& setting) const {
    ComposedPlannerOptions options;
    options.tenants = &tree_;
    options.min_run = Duration::seconds(setting.min_run);
    options.checkpoint_interval = Duration::seconds(setting.checkpoint_interval);
    return options;
  }
  std::string where(JobId job) const {
    std::string text;
    for (const Share& share : engine_.lease(job).placement) {
      text += (text.empty() ? "" : "+") + topology_.node(share.node).name;
    }
    return text;
  }

  Topology topology_;
  ProfileTable profiles_;
  Cluster cluster_;
  TenantTree tree_;
  Engine engine_;
  Instant wake_ = Instant::never();
};

}  // namespace muster::tenants_testing
