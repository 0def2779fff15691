// ComposedPlanner with minimal parts. engine/policy has the scenarios of each policy.

#include "engine/chain/composed_planner.h"
#include "engine/chain/composed_planner_testing.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/engine.h"
#include "engine/core/free_gpus.h"
#include "engine/core/world_testing.h"

namespace muster {
namespace {

// Ranks by the estimate, smaller first, and counts the calls.
class ByEstimate final : public Policy {
 public:
  ByEstimate(PolicyTraits traits, std::int64_t& asked) : traits_(traits), asked_(&asked) {}
  PolicyTraits traits() const override { return traits_; }
  Rank rank(const JobFacts& job) const override {
    ++*asked_;
    return {job.estimate.us()};
  }

 private:
  PolicyTraits traits_;
  std::int64_t* asked_;
};

constexpr PolicyTraits kPreempts = {PolicyTraits::BlockedHeadRule::kSkip, true, false, false};
constexpr PolicyTraits kLeavesAlone = {PolicyTraits::BlockedHeadRule::kSkip, false, false, false};

constexpr PolicyTraits kReserves = {PolicyTraits::BlockedHeadRule::kReserve, false, false, false};

// A cluster that executes every action immediately.
class World {
 public:
  World(std::string_view shorthand, PolicyTraits traits)
      : topology_(parse_cluster_shorthand(shorthand).value()),
        cluster_(topology_, profiles_),
        engine_(cluster_,
                std::make_unique<ComposedPlanner>(
                    cluster_, std::make_unique<ByEstimate>(traits, asked_),
                    std::make_unique<FairShare>(), std::make_unique<OneNode>(),
                    ComposedPlannerOptions()),
                EngineOptions()) {}

  // Returns the actions one second later: "stop 1, start 2 on s0".
  std::string after(std::vector<Event> events) {
    now_ = now_ + Duration::seconds(1);
    std::string text;
    carry_out(engine_, now_, std::move(events), [&](const Action& action) {
      const std::string number = std::to_string(action.job.index());
      if (action.kind == Action::Kind::kStart) {
        const NodeId node = engine_.lease(action.job).placement.front().node;
        text += ", start " + number + " on " + topology_.node(node).name;
      } else if (action.kind == Action::Kind::kStop) {
        text += ", stop " + number;
      } else if (action.kind == Action::Kind::kReject) {
        text += ", reject " + number + ": " + engine_.why_rejected(action.job);
      }
    });
    return text.empty() ? text : text.substr(2);
  }

  void pass(Duration time) { now_ = now_ + time; }
  const Engine& engine() const { return engine_; }
  std::int64_t take_asked() { return std::exchange(asked_, 0); }

 private:
  std::int64_t asked_ = 0;
  Topology topology_;
  ProfileTable profiles_;
  Cluster cluster_;
  Engine engine_;
  Instant now_;
};

// Three GPUs are free, no two of them on one node. Enough GPUs are free for the head, but it cannot
// start now, and other jobs may overtake it.
TEST(ComposedPlanner, ReservesForAHeadThatWaitsForAPlace) {
  World world("3x4", kReserves);
  EXPECT_EQ(world.after({job_of(3, 1000), job_of(3, 2000), job_of(3, 3000)}),
            "start 0 on s0, start 1 on s1, start 2 on s2");
  EXPECT_EQ(world.after({job_of(2, 5000)}), "");
  EXPECT_EQ(world.after({job_of(1, 600)}), "start 4 on s0");
  EXPECT_EQ(world.after({job_of(1, 500)}), "start 5 on s1");
  EXPECT_EQ(world.after({completed(4), completed(0)}), "start 3 on s0");
}

constexpr PolicyTraits kNoOvertaking = {PolicyTraits::BlockedHeadRule::kWait, false, false, false};

TEST(ComposedPlanner, KeepsFreeWhatTheFirstWaitsBesideIfNobodyOvertakes) {
  World world("2x4", kNoOvertaking);
  world.after({job_of(3, 1)});
  EXPECT_EQ(world.engine().kept_free(), std::nullopt) << "no job waits";
  world.after({job_of(3, 2), job_of(2, 3), job_of(1, 4)});
  EXPECT_EQ(world.engine().kept_free(), (BackfillReservation{JobId(2), 2, Instant::never()}))
      << "two are free, on two nodes";
  const FreeGpus all = count_free_gpus(world.engine(), std::nullopt);
  EXPECT_EQ(all.all, 8);
  EXPECT_EQ(all.free, 0);
  EXPECT_EQ(all.kept, 2);
  EXPECT_EQ(all.most_on_one, 1);
  EXPECT_EQ(all.seen_by(JobId(2)).free, 2);
  EXPECT_EQ(all.seen_by(JobId(2)).kept, 0);
  EXPECT_EQ(all.seen_by(JobId(3)).free, 0) << "GPUs kept for job 2 are not free for job 3";
  EXPECT_EQ(count_free_gpus(world.engine(), GpuTypeId(99)).all, 0);
  world.after({completed(0)});
  EXPECT_EQ(world.engine().kept_free(), std::nullopt);
}

TEST(ComposedPlanner, KeepsFreeWhatBackfillReserves) {
  World world("1x8", kReserves);
  world.after({job_of(5, 1000)});
  world.after({job_of(6, 2000)});
  const auto kept = world.engine().kept_free();
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->job, JobId(1));
  EXPECT_EQ(kept->gpus, 1) << "the head does not need two of the three free GPUs";
  EXPECT_EQ(kept->from, Instant::at(Duration::seconds(1001)));
  world.after({job_of(1, 10), job_of(1, 9000), job_of(1, 9000)});
  EXPECT_EQ(world.engine().kept_free(), std::nullopt) << "all GPUs are in use until then";
}

// Job 0 has run ten times as long as estimated. Without data about longer jobs, it is expected to
// run as long again, so a job of 500 s may overtake the head, and a job of 5000 s may not.
TEST(ComposedPlanner, ReservesBehindAnOverdueJob) {
  World world("1x8", kReserves);
  world.after({job_of(5, 100)});
  world.pass(Duration::seconds(999));
  world.after({job_of(6, 50)});
  const auto kept = world.engine().kept_free();
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->from, Instant::at(Duration::seconds(2001)));
  EXPECT_EQ(world.after({job_of(3, 5000)}), "");
  EXPECT_EQ(world.after({job_of(3, 500)}), "start 3 on s0");
}

TEST(ComposedPlanner, KeepsNothingFreeWhereTheFirstIsPassedOver) {
  World world("1x8", kLeavesAlone);
  world.after({job_of(5, 1000)});
  world.after({job_of(6, 2000)});
  EXPECT_EQ(world.engine().kept_free(), std::nullopt);
}

TEST(ComposedPlanner, RejectsWhatCouldNeverRunAndSaysWhy) {
  World world("2x4", kLeavesAlone);
  EXPECT_EQ(world.after({job_of(9, 1), job_of(5, 1)}),
            "reject 0: needs 9 GPUs, the cluster has 8, "
            "reject 1: 5 GPUs cannot be placed even on the empty cluster");
  EXPECT_EQ(world.after({job_of(4, 1)}), "start 2 on s0");
}

TEST(ComposedPlanner, RejectsGangsOfNobody) {
  World world("2x4", kLeavesAlone);
  EXPECT_EQ(world.after({job_of(0, 1), job_of(-3, 1)}),
            "reject 0: requests 0 GPUs, reject 1: requests -3 GPUs");
}

TEST(ComposedPlanner, GivesAHighRankedGangAWholeServerAndMovesTheOthers) {
  World world("2x4", kPreempts);
  EXPECT_EQ(world.after({job_of(2, 50), job_of(2, 60), job_of(2, 70)}),
            "start 0 on s0, start 1 on s0, start 2 on s1");
  EXPECT_EQ(world.after({completed(1)}), "");
  // Two GPUs are free on each node; the gang needs four on one.
  world.after({job_of(4, 10)});
  const Engine& engine = world.engine();
  EXPECT_EQ(engine.lease(JobId(3)).placement.front().node, NodeId(0));
  EXPECT_EQ(engine.lease(JobId(0)).placement.front().node, NodeId(1)) << "it blocked the gang";
  EXPECT_EQ(engine.lease(JobId(2)).placement.front().node, NodeId(1));
  EXPECT_EQ(engine.state().waiting, 0U);
}

TEST(ComposedPlanner, StopsTheLastInOrderWhenTheOthersMoveTogether) {
  World world("2x4", kPreempts);
  EXPECT_EQ(world.after({job_of(4, 1)}), "start 0 on s0");
  EXPECT_EQ(world.after({job_of(2, 60)}), "start 1 on s1");
  EXPECT_EQ(world.after({job_of(2, 6)}), "start 2 on s1");
  EXPECT_EQ(world.after({job_of(2, 50), completed(0)}), "start 3 on s0");
  // Six GPUs are available, but four on one node only if job 3 replaces job 1.
  EXPECT_EQ(world.after({job_of(4, 10)}), "stop 1, stop 3, start 3 on s1, start 4 on s0");
  EXPECT_EQ(world.engine().state().waiting, 1U);
}

TEST(ComposedPlanner, LeavesThoseAloneWhoRankBefore) {
  World world("2x4", kPreempts);
  world.after({job_of(2, 1), job_of(2, 2), job_of(2, 3)});
  EXPECT_EQ(world.after({completed(1)}), "");
  EXPECT_EQ(world.after({job_of(4, 10)}), "") << "it waits: both nodes run jobs of better rank";
}

// By count the gang would fit if job 1 stopped, but no place exists for it. Job 1 must not lose its
// GPUs to a job that ranks behind it. Otherwise the two would swap at every event.
TEST(ComposedPlanner, StopsNobodyForAGangThatFindsNoPlace) {
  World world("2x4", kPreempts);
  EXPECT_EQ(world.after({job_of(2, 1)}), "start 0 on s0");
  EXPECT_EQ(world.after({job_of(2, 5)}), "start 1 on s0");
  EXPECT_EQ(world.after({job_of(2, 2)}), "start 2 on s1");
  EXPECT_EQ(world.after({job_of(4, 3), job_of(2, 9)}), "start 4 on s1");
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(world.after({job_of(2, 100 + i)}), "") << "not later either";
  }
}

TEST(ComposedPlanner, DoesNotSwapEquals) {
  World world("1x4", kPreempts);
  EXPECT_EQ(world.after({job_of(4, 7)}), "start 0 on s0");
  EXPECT_EQ(world.after({job_of(4, 7)}), "");
  EXPECT_EQ(world.after({job_of(4, 6)}), "stop 0, start 2 on s0");
}

TEST(ComposedPlanner, KeepsAJobThatComesBackInItsPlaceInTheQueue) {
  World world("1x4", kPreempts);
  world.after({job_of(4, 7)});
  world.after({job_of(4, 8)});
  EXPECT_EQ(world.after({job_of(4, 1)}), "stop 0, start 2 on s0");
  EXPECT_EQ(world.after({completed(2)}), "start 0 on s0") << "before job 1, as before";
}

// Ten thousand jobs wait. The cost of an arrival and of an end must not depend on that.
TEST(ComposedPlanner, AsksThePolicyAboutRunningJobsOnly) {
  for (const PolicyTraits& traits : {kPreempts, kLeavesAlone}) {
    World world("4x4", traits);
    std::vector<Event> many;
    for (int i = 0; i < 16; ++i) many.push_back(job_of(1, 10));
    EXPECT_NE(world.after(many), "");
    many.clear();
    for (int i = 0; i < 10'000; ++i) many.push_back(job_of(1 + i % 4, 1000 + i * 7919 % 10'000));
    EXPECT_EQ(world.after(many), "");
    ASSERT_EQ(world.engine().state().waiting, 10'000U);
    world.take_asked();
    for (std::uint32_t i = 0; i < 8; ++i) {
      EXPECT_NE(world.after({job_of(1, 2000), completed(i)}), "");
      EXPECT_LE(world.take_asked(), 2 * 16 + 4) << "about sixteen running jobs";
    }
  }
}

JobSubmitted asking(std::int32_t gpus, std::int64_t rank, std::int64_t mem_of_each) {
  JobSubmitted job = job_of(gpus, rank);
  job.spec.least.mem_mib = mem_of_each;
  return job;
}

// The proportional share of one GPU is 62.5 of 250 GiB.
TEST(ComposedPlanner, AJobStartsOnlyWithTheMemoryItAsksFor) {
  constexpr std::int64_t kMuch = 150'000;
  World world("2x4", kLeavesAlone);
  EXPECT_EQ(world.after({asking(1, 1, kMuch), asking(1, 2, kMuch), asking(1, 3, kMuch)}),
            "start 0 on s0, start 1 on s1");
  EXPECT_GE(world.engine().lease(JobId(0)).placement.front().mem_mib, kMuch);
  EXPECT_EQ(world.after({job_of(1, 9)}), "start 3 on s0") << "it needs only its share";
  EXPECT_EQ(world.after({job_of(1, 9)}), "start 4 on s1") << "s0 has no more free memory";
  EXPECT_EQ(world.after({job_of(1, 9)}), "") << "GPUs are free, but no memory";
  EXPECT_EQ(world.after({completed(0)}), "start 2 on s0");
}

TEST(ComposedPlanner, AHighRankedJobMakesOthersGiveWayForItsMemory) {
  World world("1x4", kPreempts);
  EXPECT_EQ(world.after({job_of(1, 50), job_of(1, 60)}), "start 0 on s0, start 1 on s0");
  EXPECT_EQ(world.after({asking(1, 10, 180'000)}), "stop 1, start 2 on s0");
  EXPECT_EQ(world.after({asking(1, 70, 180'000)}), "") << "it ranks last";
}

TEST(ComposedPlanner, AFewNodesAtMost) {
  World world("2x4", kLeavesAlone);
  JobSubmitted job = job_of(8, 1);
  job.spec.spread = 1;
  EXPECT_EQ(world.after({job}), "reject 0: needs 8 GPUs on at most 1 node, the largest has 4");
}

// Otherwise a user who requests a different amount each time would make every plan slower.
TEST(ComposedPlanner, ShapesOfThoseThatAskForMuchAreUsedAgain) {
  World world("1x4", kLeavesAlone);
  world.take_asked();
  for (int i = 0; i < 3'000; ++i) {
    EXPECT_NE(world.after({asking(1, 1, 1'000 + i)}), "");
    EXPECT_EQ(world.after({completed(static_cast<std::uint32_t>(i))}), "");
  }
}

}  // namespace
}  // namespace muster
