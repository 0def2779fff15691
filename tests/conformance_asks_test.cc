// Rules for all policies, mechanisms and placements when jobs request CPU, memory or few nodes. The
// tests iterate over the tables, so they cover new entries. After each step they check every lease
// against the rules in the user documentation.

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

bool as_asked(const JobSpec& spec, const Placement& placement) {
  const bool few = spec.spread == 0 || placement.size() <= static_cast<std::size_t>(spec.spread);
  return few && std::all_of(placement.begin(), placement.end(), [&](const Share& share) {
           return share.cpu_milli >= spec.least.cpu_milli * share.gpus() &&
                  share.mem_mib >= spec.least.mem_mib * share.gpus();
         });
}

// Runs a few jobs from submission to end under one scheduler. Jobs end at random times.
class Lives {
 public:
  Lives(const PlannerOptions& parts, std::string name, std::uint64_t seed)
      : name_(std::move(name)), random_(seed) {
    MadePlanner made = make_planner(cluster_, parts);
    EngineOptions options;
    options.pooling = made.pooling;
    engine_ = std::make_unique<Engine>(cluster_, std::move(made.planner), options);
    keeps_share_ = parts.parts.mechanism != "greedy";
  }

  void play(int jobs) {
    for (int turn = 0; turn < 400 && !HasFailure(); ++turn) {
      std::vector<Event> events = {TimerFired{}};
      for (const JobId job : running()) {
        if (random_.below(3) != 0) continue;
        events.push_back(LeaseEnded{job, engine_->lease(job).epoch, LeaseOutcome::kCompleted});
      }
      for (std::uint64_t i = random_.below(4); i > 0 && jobs > 0; --i, --jobs) {
        events.push_back(JobSubmitted{spec()});
      }
      step(std::move(events));
      if (jobs == 0 && engine_->state().placed.empty() && engine_->state().waiting == 0) return;
    }
    FAIL() << name_ << ": " << engine_->state().waiting << " jobs wait for ever";
  }

  int particular() const { return particular_; }

 private:
  static bool HasFailure() { return ::testing::Test::HasFailure(); }

  JobSpec spec() {
    constexpr std::int32_t kSizes[] = {1, 1, 2, 2, 3, 4, 6, 8};
    constexpr std::int64_t kCpus[] = {0, 0, 500, 2'500, 5'000};
    constexpr std::int64_t kMem[] = {0, 0, 1'000, 90'000, 150'000};
    constexpr std::int32_t kSpreads[] = {0, 0, 1, 2, 3};
    JobSpec spec;
    spec.gpus = kSizes[random_.below(std::size(kSizes))];
    spec.profile = ProfileId(random_.below(profiles_.size()));
    spec.user = UserId(random_.below(3));
    spec.tenant = TenantId(random_.below(2));
    spec.estimate = Duration::seconds(static_cast<std::int64_t>(100 + random_.below(3'000)));
    if (random_.below(2) == 0) return spec;
    spec.least = {0, kCpus[random_.below(5)], kMem[random_.below(5)], 0};
    spec.spread = kSpreads[random_.below(5)];
    return spec;
  }

  std::vector<JobId> running() const {
    std::vector<JobId> jobs;
    for (const JobId job : engine_->state().placed) {
      if (engine_->lease(job).state == Lease::State::kRunning) jobs.push_back(job);
    }
    return jobs;
  }

  void step(std::vector<Event> events) {
    second_ += 200;
    while (!events.empty()) {
      std::vector<Event> news;
      const Instant now = Instant::at(Duration::seconds(second_++));
      for (const Action& action : engine_->step(now, events)) {
        if (action.kind == Action::Kind::kStart) {
          particular_ += engine_->state().jobs[action.job].spec.is_particular() ? 1 : 0;
          news.push_back(LeaseStarted{action.job, action.epoch});
        } else if (action.kind == Action::Kind::kStop) {
          news.push_back(LeaseEnded{action.job, action.epoch, LeaseOutcome::kStopped});
        } else if (action.kind == Action::Kind::kReject) {
          EXPECT_NE(engine_->why_rejected(action.job), "") << name_;
        }
      }
      engine_->state().check_invariants();
      look();
      events = std::move(news);
    }
  }

  void look() {
    for (const JobId job : engine_->state().placed) {
      const JobSpec& spec = engine_->state().jobs[job].spec;
      const Lease& lease = engine_->lease(job);
      ASSERT_TRUE(as_asked(spec, lease.placement) && as_asked(spec, lease.in_force()))
          << name_ << ", job " << job.index() << ": " << what_it_asks(spec);
      if (!keeps_share_) continue;
      double slowest = 1e9;
      for (const Share& share : lease.placement) {
        slowest = std::min(slowest, cluster_.fair_speed(spec, share.node));
      }
      ASSERT_GE(cluster_.speed(spec, lease.placement), slowest - 1e-9)
          << name_ << ", job " << job.index() << " is below its proportional share";
    }
  }

  const std::string name_;
  const Topology topology_ = large_and_small();
  const ProfileTable profiles_ = builtin_profiles();
  const Cluster cluster_{topology_, profiles_};
  Random random_;
  std::unique_ptr<Engine> engine_;
  std::int64_t second_ = 0;
  int particular_ = 0;
  bool keeps_share_ = true;
};

TEST(AsksOfSchedulers, EveryLeaseHasWhatItsJobAskedForAndEveryJobEnds) {
  for (const Composition& each : all_compositions()) {
    Lives run(each.options, each.name, 7);
    ASSERT_NO_FATAL_FAILURE(run.play(each.is_slow ? 12 : 40));
    EXPECT_GT(run.particular(), each.is_slow ? 1 : 8);
  }
}

TEST(AsksOfSchedulers, ManyRunsOfTheMechanismsThatRevise) {
  for (const char* const mechanism : {"tune", "blend", "opt"}) {
    for (const char* const policy : {"fifo", "srtf", "las", "backfill"}) {
      for (std::uint64_t seed = 0; seed < 10; ++seed) {
        PlannerOptions options;
        options.parts = {policy, mechanism, "consolidate"};
        Lives run(options, std::string(policy) + "/" + mechanism + ", seed " + std::to_string(seed),
                  seed);
        ASSERT_NO_FATAL_FAILURE(run.play(mechanism == std::string("opt") ? 10 : 40));
      }
    }
  }
}

// Lent GPUs are reclaimed for jobs with requests, and the search for victims terminates.
TEST(AsksOfSchedulers, WithTenants) {
  TenantList list;
  list.tenants.resize(2);
  for (const bool left : {true, false}) {
    list.tenants[left ? 0 : 1].name = left ? "left" : "right";
    list.tenants[left ? 0 : 1].quota = left ? 20 : 8;
  }
  const TenantTree tenants = TenantTree::build(list).value();
  for (const auto& mechanism : mechanisms()) {
    for (const char* const policy : {"fifo", "fit-first", "srtf", "backfill"}) {
      for (std::uint64_t seed = 0; seed < 5; ++seed) {
        PlannerOptions options;
        options.parts = {policy, std::string(mechanism.name), "consolidate"};
        options.chain.tenants = &tenants;
        Lives run(options, std::string(policy) + "/" + std::string(mechanism.name) + ", tenants",
                  seed);
        ASSERT_NO_FATAL_FAILURE(run.play(mechanism.name == "opt" ? 10 : 40));
      }
    }
  }
}

TEST(AsksOfSchedulers, PhillyHeedsThemToo) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    PlannerOptions options;
    options.whole = PhillyOptions{};
    Lives run(options, "philly, seed " + std::to_string(seed), seed);
    ASSERT_NO_FATAL_FAILURE(run.play(40));
    EXPECT_GT(run.particular(), 3);
  }
}

// For any free resources, no placement exceeds the maximum number of nodes of a gang or violates
// its CPU and memory requests, and none fails if a single node is sufficient.
TEST(AsksOfParts, EveryPlacementKeepsToTheSpread) {
  const Topology topology = large_and_small();
  const ProfileTable profiles = builtin_profiles();
  const Cluster cluster(topology, profiles);
  for (const Entry<Placer>& entry : placements()) {
    const Owned<Placer> placer = entry.make();
    int placed = 0;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
      Random random(seed);
      ResourceLedger ledger(topology, placer->pooling());
      for (std::size_t i = 0; i < topology.node_count(); ++i) {
        const NodeId node(i);
        const SlotMask taken = ledger.free_slots(node) & random.next() & random.next();
        if (taken != 0) ledger.take({node, taken, 0, 0, 0});
      }
      Demand demand;
      demand.gpus = 1 + static_cast<std::int32_t>(random.below(8));
      demand.spread = 1 + static_cast<std::int32_t>(random.below(3));
      demand.least = {0, 1'500, 80'000, 0};
      demand.salt = seed;
      Placement found;
      const bool any = placer->place(cluster, ledger, demand, found);
      placed += any ? 1 : 0;
      EXPECT_LE(found.size(), static_cast<std::size_t>(demand.spread)) << entry.name;
      for (const Share& share : found) {
        EXPECT_GE(share.mem_mib, 80'000 * share.gpus()) << entry.name;
        EXPECT_GE(share.cpu_milli, 1'500 * share.gpus()) << entry.name;
      }
      const Resources each = demand.appetite(cluster, NodeId(0));
      bool one_does = false;
      for (std::size_t i = 0; i < topology.node_count() && !ledger.pooled(); ++i) {
        one_does |= ledger.can_serve(NodeId(i), demand.appetite(cluster, NodeId(i)), demand.gpus);
      }
      EXPECT_TRUE(any || !one_does) << entry.name << ", seed " << seed << ", " << each.mem_mib;
    }
    EXPECT_GT(placed, 50) << entry.name;
  }
}

TEST(AsksOfSchedulers, TheOnesThatDoNotHeedThemSayNo) {
  const Topology topology = large_and_small();
  const ProfileTable profiles = builtin_profiles();
  const Cluster cluster(topology, profiles);
  for (const bool gandiva : {true, false}) {
    PlannerOptions options;
    if (gandiva) {
      options.whole = GandivaOptions{};
    } else {
      options.whole = OptimusOptions{};
    }
    const MadePlanner made = make_planner(cluster, options);
    JobSpec spec;
    spec.spread = 1;
    const auto why = made.planner->refuse(spec);
    ASSERT_TRUE(why.has_value());
    EXPECT_NE(why->find("does not support"), std::string::npos) << *why;
  }
}

}  // namespace
}  // namespace muster
