// Rules for all policies, mechanisms and placements when a job must avoid nodes on which it failed.
// The tests iterate over the tables, so they cover new entries.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/types/random.h"
#include "conformance_scenes.h"
#include "engine/core/engine.h"
#include "engine/mechanism/registry.h"
#include "engine/placement/registry.h"
#include "engine/policy/registry.h"
#include "engine/scheduler/scheduler.h"
#include "workload/input/profiles_file.h"

namespace muster {
namespace {

bool touches(const Placement& placement, std::span<const NodeId> nodes) {
  return std::any_of(placement.begin(), placement.end(),
                     [&](const Share& share) { return is_among(nodes, share.node); });
}

Share slots_alone(NodeId node, SlotMask slots) {
  Share share;
  share.node = node;
  share.slots = slots;
  return share;
}

Topology large_and_small() {
  Topology topology;
  for (const char* const name : {"a0", "a1", "a2"}) {
    EXPECT_FALSE(topology.add_node(name, "r0", "gpu", {4, 12'000, 256'000, 250'000}));
  }
  for (const char* const name : {"b0", "b1", "b2"}) {
    EXPECT_FALSE(topology.add_node(name, "r1", "gpu", {2, 6'000, 128'000, 125'000}));
  }
  return topology;
}

// A cluster with some used GPUs and some nodes that the job must avoid.
struct Scene {
  explicit Scene(std::uint64_t seed, Pooling pooling)
      : random(seed), ledger(topology, pooling), profile(random.below(profiles.size())) {
    for (std::size_t i = 0; i < topology.node_count(); ++i) {
      const NodeId node(i);
      const SlotMask taken = ledger.free_slots(node) & random.next() & random.next();
      if (taken != 0) ledger.take(slots_alone(node, taken));
      if (random.below(3) == 0) avoid.push_back(node);
    }
  }

  const Topology topology = large_and_small();
  const ProfileTable profiles = builtin_profiles();
  const Cluster cluster{topology, profiles};
  Random random;
  ResourceLedger ledger;
  ProfileId profile;
  std::vector<NodeId> avoid;
};

TEST(ElsewhereOfParts, EveryPlacementTreatsAvoidedServersAsIfTheyWereFull) {
  for (const Entry<Placer>& entry : placements()) {
    const Owned<Placer> placer = entry.make();
    int placed = 0;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
      Scene scene(seed, placer->pooling());
      Demand demand;
      demand.gpus = 1 + static_cast<std::int32_t>(scene.random.below(8));
      demand.profile = scene.profile;
      demand.per_gpu = Resources{1, 1, 1, 1};
      demand.salt = seed;
      demand.avoid = scene.avoid;
      Placement found;
      placed += placer->place(scene.cluster, scene.ledger, demand, found) ? 1 : 0;
      EXPECT_FALSE(touches(found, scene.avoid)) << entry.name << ", seed " << seed;
      ResourceLedger full = scene.ledger;
      for (const NodeId node : scene.avoid) {
        if (full.free_slots(node) != 0) full.take(slots_alone(node, full.free_slots(node)));
      }
      demand.avoid = {};
      Placement expected;
      placer->place(scene.cluster, full, demand, expected);
      // skew computes the minimum number of nodes with full nodes, but without avoided nodes.
      if (entry.name == "skew" && expected.empty()) continue;
      EXPECT_EQ(found, expected) << entry.name << ", seed " << seed;
    }
    EXPECT_GT(placed, 50) << entry.name;
  }
}

TEST(ElsewhereOfParts, EveryMechanismKeepsNewcomersOffTheServersTheyAvoid) {
  for (const Entry<Mechanism>& entry : mechanisms()) {
    const Owned<Mechanism> mechanism = entry.make();
    const Owned<Placer> placer = find_entry(placements(), "placement", "first-fit").value()->make();
    int placed = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      Scene scene(seed, mechanism->pooling());
      std::vector<JobSpec> specs(6);
      std::vector<Ask> asks(specs.size());
      for (std::size_t i = 0; i < asks.size(); ++i) {
        specs[i].gpus = 1 + static_cast<std::int32_t>(scene.random.below(3));
        specs[i].profile = ProfileId(scene.random.below(scene.profiles.size()));
        asks[i].job = JobId(i);
        asks[i].spec = &specs[i];
        if (i % 2 == 0) asks[i].avoid = scene.avoid;
      }
      if (mechanism->adaptive()) {
        mechanism->rebalance(scene.cluster, *placer, scene.ledger, asks);
      } else {
        for (Ask& ask : asks) {
          mechanism->place(scene.cluster, *placer, scene.ledger, ask);
          for (const Share& share : ask.given) scene.ledger.take(share);
        }
      }
      for (const Ask& ask : asks) {
        placed += !ask.given.empty() && !ask.avoid.empty() ? 1 : 0;
        EXPECT_FALSE(touches(ask.given, ask.avoid)) << entry.name << ", seed " << seed;
      }
    }
    EXPECT_GT(placed, 20) << entry.name;
  }
}

// An engine with these parts on nodes with one GPU each.
class Floor {
 public:
  Floor(const PlannerOptions& parts, const std::string& shorthand)
      : topology_(parse_cluster_shorthand(shorthand).value()) {
    MadePlanner made = make_planner(cluster_, parts);
    EngineOptions options;
    options.pooling = made.pooling;
    options.retry = RetryPolicy::adaptive();
    engine_ = std::make_unique<Engine>(cluster_, std::move(made.planner), options);
  }
  // Stops and starts take effect within the second.
  void at(std::int64_t second, std::vector<Event> events) {
    while (true) {
      std::vector<Event> news;
      for (const Action& action : engine_->step(Instant::at(Duration::seconds(second)), events)) {
        if (action.kind == Action::Kind::kStart) {
          news.push_back(LeaseStarted{action.job, action.epoch});
        } else if (action.kind == Action::Kind::kStop) {
          news.push_back(LeaseEnded{action.job, action.epoch, LeaseOutcome::kStopped});
        }
      }
      engine_->state().check_invariants();
      if (news.empty()) return;
      events = std::move(news);
      ++second;
    }
  }
  static JobSubmitted job(std::uint32_t user) {
    JobSpec spec;
    spec.user = UserId(user);
    spec.estimate = Duration::seconds(10'000);
    return {spec};
  }
  AttemptFailed failed(std::uint32_t id) const {
    return {JobId(id), engine_->lease(JobId(id)).epoch, Reason::kCoreDump};
  }
  bool is_placed(std::uint32_t id) const {
    return engine_->state().jobs[JobId(id)].state == JobState::kPlaced;
  }
  NodeId where(std::uint32_t id) const { return engine_->lease(JobId(id)).placement.front().node; }
  const Engine& engine() const { return *engine_; }

 private:
  const Topology topology_;
  const ProfileTable profiles_ = builtin_profiles();
  const Cluster cluster_{topology_, profiles_};
  std::unique_ptr<Engine> engine_;
};

std::vector<Composition> all_schedulers() {
  std::vector<Composition> all = all_compositions();
  PlannerOptions philly;
  philly.whole = PhillyOptions{};
  all.push_back({"philly", philly});
  return all;
}

TEST(ElsewhereOfSchedulers, TheNextAttemptIsOnAnotherServer) {
  for (const auto& [name, options, is_slow] : all_schedulers()) {
    Floor floor(options, "3x1");
    floor.at(0, {floor.job(0)});
    ASSERT_TRUE(floor.is_placed(0)) << name;
    const NodeId first = floor.where(0);
    floor.at(50, {floor.failed(0)});
    ASSERT_TRUE(floor.is_placed(0)) << name;
    EXPECT_NE(floor.where(0), first) << name;
  }
}

TEST(ElsewhereOfSchedulers, WithOneServerItIsTriedThereAgain) {
  for (const auto& [name, options, is_slow] : all_schedulers()) {
    Floor floor(options, "1x1");
    floor.at(0, {floor.job(0)});
    floor.at(50, {floor.failed(0)});
    EXPECT_TRUE(floor.is_placed(0)) << name;
  }
}

TEST(ElsewhereOfSchedulers, NobodyWaitsForOneThatWaitsForOtherServers) {
  for (const auto& [name, options, is_slow] : all_schedulers()) {
    Floor floor(options, "2x1");
    floor.at(0, {floor.job(0)});
    floor.at(1000, {floor.job(1)});
    ASSERT_TRUE(floor.is_placed(0) && floor.is_placed(1)) << name;
    const NodeId bad = floor.where(0);
    floor.at(1050, {floor.failed(0)});
    floor.at(1100, {floor.job(2)});
    EXPECT_EQ(floor.engine().state().ledger.free_gpus(), 0) << name;
    if (floor.is_placed(0)) {  // It preempted another job.
      EXPECT_NE(floor.where(0), bad) << name;
    }
  }
}

TEST(ElsewhereOfSchedulers, AfterTenMinutesAnyServerWillDo) {
  for (const auto& [name, options, is_slow] : all_schedulers()) {
    Floor floor(options, "2x1");
    floor.at(0, {floor.job(0)});
    floor.at(1000, {floor.job(1)});
    floor.at(1050, {floor.failed(0)});
    for (std::int64_t second = 1060; second < 2200; second += 100) floor.at(second, {TimerFired{}});
    EXPECT_TRUE(floor.is_placed(0) && floor.is_placed(1)) << name;
  }
}

}  // namespace
}  // namespace muster
