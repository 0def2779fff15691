// Philly without tenants: where and when a gang starts, and why it waited until then.

#include "engine/planner/philly.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/planner/testing.h"

namespace muster {
namespace {

PhillyOptions relax_after(std::int32_t tries) {
  PhillyOptions options = usual();
  options.relax_after = tries;
  return options;
}

// On nodes of four, three are taken of each: jobs 0, 1, ...
void break_nodes(World& world, int nodes) {
  for (int i = 0; i < nodes; ++i) {
    const std::string number = std::to_string(i);
    ASSERT_EQ(world.at(0, {job(3)}), "@0 start " + number + " on " + number + ":3");
  }
}

// Either node has one GPU left, and job 2 waits for two of the first, which it has asked for.
struct WaitingGang : World {
  explicit WaitingGang(const PhillyOptions& options = usual(), std::string_view cluster = "2x4")
      : World(cluster, options) {
    break_nodes(*this, 2);
    EXPECT_EQ(at(0, {job(2)}), "");
  }
};

TEST(Philly, StartsAGangAtOnceWhereItHasItsLocality) {
  World world("4x4,racks=2");
  EXPECT_EQ(world.at(5, {job(4)}), "@5 start 0 on 0:4");
  EXPECT_EQ(world.at(6, {job(8)}), "@6 start 1 on 2:4 3:4") << "the rack with most free";
  EXPECT_EQ(world.at(7, {job(1)}), "@7 start 2 on 1:1");
  EXPECT_EQ(world.waited(1, 50), "");
}

TEST(Philly, RefusesWhatCouldNeverRun) {
  World world("2x4,racks=2", relax_after(0));
  EXPECT_EQ(world.at(0, {job(0), job(9), job(5), job(4)}),
            "@0 reject 0: requests 0 GPUs, @0 reject 1: needs 9 GPUs, the cluster has 8, "
            "@0 reject 2: 5 GPUs do not fit into one rack, and locality is never relaxed, "
            "@0 start 3 on 0:4");
  World relaxed("2x4,racks=2");
  EXPECT_EQ(relaxed.at(0, {job(5)}), "") << "it may come to be spread over racks";
}

TEST(Philly, WaitsForTheServersItAskedForWhileOthersOvertake) {
  World world("2x4");
  break_nodes(world, 2);
  EXPECT_EQ(world.at(0, {job(2)}), "") << "one GPU is free on either node; it asks for the first";
  EXPECT_EQ(world.at(10, {world.end(1)}), "") << "not the one it asked for";
  EXPECT_EQ(world.at(15, {job(2)}), "@15 start 3 on 1:2") << "one that comes later is luckier";
  EXPECT_EQ(world.at(20, {world.end(0)}), "@20 start 2 on 0:2");
  EXPECT_EQ(world.waited(2, 99), "fragmentation 20");
  EXPECT_EQ(world.waited(3, 99), "");
}

TEST(Philly, LooksAroundOnceWhenItsTimeIsOver) {
  WaitingGang world;
  EXPECT_EQ(world.at(10, {world.end(1)}), "");
  EXPECT_EQ(world.at(500), "@180 start 2 on 1:2");
  EXPECT_EQ(world.waited(2, 500), "fragmentation 180");
}

TEST(Philly, WaitsAsLongAsItIsTold) {
  PhillyOptions options = usual();
  options.acquire = Duration::seconds(45);
  WaitingGang world(options);
  EXPECT_EQ(world.at(10, {world.end(1)}), "");
  EXPECT_EQ(world.at(500), "@45 start 2 on 1:2");
}

TEST(Philly, BacksOffAndBeginsAnew) {
  WaitingGang world;
  EXPECT_EQ(world.at(200, {world.end(0)}), "") << "it asks for nothing now";
  EXPECT_EQ(world.waited(2, 250), "fragmentation 180, back-off 70");
  EXPECT_EQ(world.at(900), "@300 start 2 on 0:2");
  EXPECT_EQ(world.waited(2, 900), "fragmentation 180, back-off 120");
}

TEST(Philly, ABackOffIsAsLongAsItIsTold) {
  PhillyOptions options = usual();
  options.back_off = Duration::seconds(7);
  WaitingGang world(options);
  EXPECT_EQ(world.at(182, {world.end(0)}), "");
  EXPECT_EQ(world.at(900), "@187 start 2 on 0:2");
}

TEST(Philly, RelaxesOneLevelAfterSoManyTries) {
  const struct {
    const char* cluster;
    std::int32_t tries;
    const char* want;
  } cases[] = {
      // Tries end at 180, 480, 780, ...; the last search of a try already uses the new level.
      {"2x4,racks=1", 1, "@180 start 2 on 0:1 1:1"},  {"2x4,racks=1", 2, "@480 start 2 on 0:1 1:1"},
      {"2x4,racks=1", 3, "@780 start 2 on 0:1 1:1"},  {"2x4,racks=2", 1, "@480 start 2 on 0:1 1:1"},
      {"2x4,racks=2", 2, "@1080 start 2 on 0:1 1:1"}, {"2x4,racks=1", 0, ""},
  };
  for (const auto& each : cases) {
    SCOPED_TRACE(testing::Message() << each.cluster << ", relax after " << each.tries);
    WaitingGang world(relax_after(each.tries), each.cluster);
    EXPECT_EQ(world.at(50'000), each.want);
  }
}

TEST(Philly, NeverRelaxedItStillGetsWhatItWaitsFor) {
  WaitingGang world(relax_after(0));
  EXPECT_EQ(world.at(30'050), "");  // Starts again every 300 s: it asks since 30,000.
  EXPECT_EQ(world.at(30'060, {world.end(0)}), "@30060 start 2 on 0:2");
  EXPECT_EQ(world.waited(2, 30'060), "fragmentation 18060, back-off 12000");
}

TEST(Philly, ATryThatFailedForWantOfGpusDoesNotCount) {
  WaitingGang world;
  EXPECT_EQ(world.at(10, {job(1)}), "@10 start 3 on 0:1");
  EXPECT_EQ(world.at(200, {world.end(3)}), "") << "queued since 180, it asks again from now on";
  // 380 is the first try that counts, 680 the second.
  EXPECT_EQ(world.at(2000), "@680 start 2 on 0:1 1:1");
  EXPECT_EQ(world.waited(2, 2000), "fragmentation 370, order 190, back-off 120");
}

TEST(Philly, JobsThatWaitForFreeGpusAreServedInOrder) {
  World world("1x4");
  EXPECT_EQ(world.at(0, {job(4), job(3), job(3), job(2)}), "@0 start 0 on 0:4");
  EXPECT_EQ(world.at(9, {world.end(0)}), "@9 start 1 on 0:3");
  EXPECT_EQ(world.at(10, {job(1)}), "@10 start 4 on 0:1") << "the smaller one overtakes";
  EXPECT_EQ(world.at(20, {world.end(1)}), "@20 start 2 on 0:3");
  EXPECT_EQ(world.waited(2, 30), "order 20");
  EXPECT_EQ(world.waited(3, 30), "order 30");
}

TEST(Philly, NobodyAsksForGpusThatAreSpokenFor) {
  World world("3x4");
  break_nodes(world, 3);
  EXPECT_EQ(world.at(0, {job(2), job(3)}), "") << "three GPUs are free, and job 3 asks for two";
  EXPECT_EQ(world.at(200), "");
  EXPECT_EQ(world.waited(3, 200), "fragmentation 180, back-off 20");
  EXPECT_EQ(world.waited(4, 200), "fragmentation 200") << "it begins to ask at 180";
  EXPECT_EQ(world.at(361), "");
  EXPECT_EQ(world.waited(4, 361), "fragmentation 360, back-off 1");
}

TEST(Philly, ThoseWhoAskComeBeforeNewcomers) {
  World world("4x4");
  break_nodes(world, 4);
  EXPECT_EQ(world.at(1, {job(2)}), "");
  EXPECT_EQ(world.at(2, {job(2)}), "") << "both ask for the first node";
  EXPECT_EQ(world.at(3, {job(4), world.end(0)}), "@3 start 4 on 0:2, @3 start 5 on 0:2");
  EXPECT_EQ(world.state().waiting, 1U) << "the new job would have fit too";
}

TEST(Philly, ACancelledJobLeavesNothingBehindInAnyPhase) {
  const struct {
    const char* phase;
    std::int64_t when;
    const char* waited;
  } cases[] = {
      {"asking", 50, "fragmentation 50"},
      {"backing off", 200, "fragmentation 180, back-off 20"},
      {"asking again", 310, "fragmentation 190, back-off 120"},
  };
  for (const auto& each : cases) {
    SCOPED_TRACE(each.phase);
    World world("3x4", relax_after(0));
    break_nodes(world, 3);
    EXPECT_EQ(world.at(0, {job(2)}), "");
    EXPECT_EQ(world.at(each.when, {cancel(3), job(3)}), "");
    EXPECT_EQ(world.waited(3, 5000), each.waited);
    // The other job asks immediately: all three free GPUs are available again.
    EXPECT_EQ(world.at(each.when + 181), "");
    EXPECT_EQ(world.waited(4, each.when + 181), "fragmentation 180, back-off 1");
    EXPECT_EQ(world.at(each.when + 400, {world.end(0)}),
              "@" + std::to_string(each.when + 400) + " start 4 on 0:3");
    EXPECT_EQ(world.state().waiting, 0U);
    EXPECT_EQ(world.at(90'000), "");
  }
}

TEST(Philly, ACancelledJobInTheQueueOrOnItsGpusMakesRoom) {
  World world("1x4");
  EXPECT_EQ(world.at(0, {job(4), job(4), job(4)}), "@0 start 0 on 0:4");
  EXPECT_EQ(world.at(10, {cancel(1)}), "");
  EXPECT_EQ(world.waited(1, 99), "order 10");
  EXPECT_EQ(world.at(20, {cancel(0)}), "@20 stop 0, @20 start 2 on 0:4");
  EXPECT_EQ(world.state().jobs[JobId(0)].state, JobState::kCancelled);
  EXPECT_EQ(world.at(30, {cancel(2), cancel(2), cancel(7)}), "@30 stop 2") << "once is enough";
  EXPECT_EQ(world.at(40, {job(4)}), "@40 start 3 on 0:4");
}

TEST(Philly, ACancelledNeighbourFreesWhatWasAskedFor) {
  WaitingGang world;
  EXPECT_EQ(world.at(10, {cancel(0)}), "@10 stop 0, @10 start 2 on 0:2");
}

TEST(Philly, KeepsToTheGpuTypeAskedFor) {
  Topology topology;
  ASSERT_FALSE(topology.add_node("k", "r", "k80", {4, 12000, 400, 0}));
  ASSERT_FALSE(topology.add_node("v", "r", "v100", {4, 12000, 400, 0}));
  World world(std::move(topology), usual());
  JobSubmitted picky = job(4);
  picky.spec.gpu_type = GpuTypeId(1);
  EXPECT_EQ(world.at(0, {picky, picky}), "@0 start 0 on 1:4");
  EXPECT_EQ(world.at(60), "");
  EXPECT_EQ(world.waited(1, 60), "order 60") << "other GPUs are free but of no use";
  EXPECT_EQ(world.at(70, {job(4)}), "@70 start 2 on 0:4");
  EXPECT_EQ(world.at(80, {world.end(0)}), "@80 start 1 on 1:4");
  picky.spec.gpus = 5;
  EXPECT_EQ(world.at(90, {picky}), "@90 reject 3: needs 5 GPUs of type v100, the cluster has 4");
}

// The same as ATryThatFailedForWantOfGpusDoesNotCount, where GPUs of another type are idle.
TEST(Philly, NeitherDoesATryThatFailedForWantOfGpusOfItsType) {
  Topology topology;
  ASSERT_FALSE(topology.add_node("k", "r", "k80", {4, 12000, 400, 0}));
  ASSERT_FALSE(topology.add_node("v", "r", "v100", {4, 12000, 400, 0}));
  World world(std::move(topology), usual());
  JobSubmitted picky = job(4);
  picky.spec.gpu_type = GpuTypeId(1);
  EXPECT_EQ(world.at(0, {picky, picky}), "@0 start 0 on 1:4");
  EXPECT_EQ(world.at(250), "");
  EXPECT_EQ(world.waited(1, 250), "order 250") << "and no back-off";
  EXPECT_EQ(world.at(260, {world.end(0)}), "@260 start 1 on 1:4");
}

TEST(Philly, AnEndNobodyAskedForFreesWhatWasAskedFor) {
  World world("2x4");
  break_nodes(world, 2);
  EXPECT_EQ(world.at(0, {job(4)}), "") << "only two are free";
  EXPECT_EQ(world.at(1, {job(2)}), "");
  EXPECT_EQ(world.at(10, {world.end(0, LeaseOutcome::kStopped)}), "@10 start 3 on 0:2");
}

}  // namespace
}  // namespace muster
