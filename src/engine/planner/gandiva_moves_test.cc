// Gandiva's migrations, and elastic jobs that grow and shrink.

#include "engine/planner/gandiva_moves.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "engine/planner/gandiva_testing.h"

namespace muster {
namespace {

GandivaOptions with_min_run(std::int64_t seconds) {
  GandivaOptions options;
  options.min_run = Duration::seconds(seconds);
  return options;
}

JobSubmitted stretching(std::int32_t gpus, std::int32_t most) {
  JobSubmitted wish = job(gpus);
  wish.spec.fewest = 1;
  wish.spec.most = most;
  return wish;
}

TEST(GandivaMoves, OneOfTheFullestSeatGoesToVacatedGpus) {
  GandivaWorld world("3x1");
  EXPECT_EQ(world.at(0, {job(1), job(1), job(1)}),
            "@0 start 0 on 0:1, @0 start 1 on 1:1, @0 start 2 on 2:1");
  EXPECT_EQ(world.at(1, {job(1), job(1)}),
            "@1 start 3 on 0:1, @1 start 4 on 1:1, @1 0+3 turns, @1 1+4 turns");
  EXPECT_EQ(world.at(2, {job(1), job(1)}),
            "@2 start 5 on 2:1, @2 start 6 on 0:1, @2 0+3+6 turns, @2 2+5 turns");
  EXPECT_EQ(world.at(100, {world.end(2), world.end(5)}),
            "@100 stop 6, @100 0+3 turns, @100 start 6 on 2:1");
  EXPECT_EQ(world.at(1000), "") << "all seats are full";
}

TEST(GandivaMoves, NobodyIsMovedBeforeItHasHadASlice) {
  GandivaWorld world("2x1");
  world.at(0, {job(1), job(1)});
  EXPECT_EQ(world.at(50, {job(1)}), "@50 start 2 on 0:1, @50 0+2 turns");
  EXPECT_EQ(world.at(55, {world.end(1)}), "");
  EXPECT_EQ(world.at(500), "@60 stop 0, @60 2 alone, @60 start 0 on 1:1");
}

TEST(GandivaMoves, NorBeforeItsMinimumTime) {
  GandivaWorld world("2x1", with_min_run(130));
  world.at(0, {job(1), job(1)});
  EXPECT_EQ(world.at(1, {job(1)}), "@1 start 2 on 0:1, @1 0+2 turns");
  EXPECT_EQ(world.at(70, {world.end(1)}), "");
  EXPECT_EQ(world.at(500), "@180 stop 2, @180 0 alone, @180 start 2 on 1:1");
}

TEST(GandivaMoves, SomebodyWhoWaitsComesFirst) {
  GandivaWorld world("2x2", at_most(2));
  world.at(0, {job(2), job(2), job(2)});
  EXPECT_EQ(world.at(1, {job(1)}), "");
  EXPECT_EQ(world.at(100, {world.end(1)}), "@100 start 3 on 1:1");
}

// Only jobs of equal size share GPUs, so gangs would keep theirs while a smaller job waits.
TEST(GandivaMoves, TwoGangsShareGpusWhileASmallerJobWaits) {
  GandivaWorld world("2x2");
  world.at(0, {job(2), job(2)});
  EXPECT_EQ(world.at(50, {job(1)}), "") << "no job may be moved yet";
  EXPECT_EQ(world.at(99), "@60 stop 0, @60 1+0 turns, @60 start 0 on 1:2, @60 start 2 on 0:1");
  EXPECT_EQ(world.at(100, {job(1)}), "@100 start 3 on 0:1");
  EXPECT_EQ(world.at(101, {world.end(2)}), "") << "the gang needs two GPUs";
  EXPECT_EQ(world.at(200, {world.end(3)}), "@200 stop 0, @200 1 alone, @200 start 0 on 0:2");
}

TEST(GandivaMoves, GangsDoNotShareForLessThanHalfOfTheirGpus) {
  GandivaWorld world("2x4");
  world.at(0, {job(4), job(4)});
  EXPECT_EQ(world.at(100, {job(1)}), "") << "three GPUs would be idle";
  EXPECT_EQ(world.at(110, {job(1)}),
            "@110 stop 0, @110 1+0 turns, @110 start 0 on 1:4, @110 start 2 on 0:1, "
            "@110 start 3 on 0:1");
}

TEST(GandivaMoves, NoMoreGangsShareThanItIsTold) {
  GandivaWorld world("3x2", at_most(2));
  EXPECT_EQ(world.at(0, {job(2), job(2), job(2), job(2)}),
            "@0 start 0 on 0:2, @0 start 1 on 1:2, @0 start 2 on 2:2, @0 start 3 on 0:2, "
            "@0 0+3 turns");
  EXPECT_EQ(world.at(100, {job(1)}),
            "@100 stop 1, @100 2+1 turns, @100 start 1 on 2:2, @100 start 4 on 1:1");
  EXPECT_EQ(world.at(200, {job(3)}), "") << "no two seats have two members together";
}

TEST(GandivaMoves, ASpreadGangLeavesItsGpusRatherThanAnother) {
  GandivaWorld world("2x3");
  EXPECT_EQ(world.at(0, {job(2), job(2)}), "@0 start 0 on 0:2, @0 start 1 on 1:2");
  EXPECT_EQ(world.at(1, {job(2)}), "@1 start 2 on 0:1 1:1");
  EXPECT_EQ(world.at(100, {job(1)}),
            "@100 stop 2, @100 0+2 turns, @100 start 2 on 0:2, @100 start 3 on 0:1");
}

TEST(GandivaMoves, AFewAtATime) {
  GandivaWorld world("2x10");
  for (int i = 0; i < 10; ++i) world.at(0, {job(1)});
  world.at(0, {job(10)});
  for (int i = 0; i < 10; ++i) world.at(1, {job(1)});
  EXPECT_EQ(world.state().sharing_groups.size(), 10U);
  std::string done = world.at(100, {world.end(10)});
  EXPECT_NE(done.find("start 18 on 1:1"), std::string::npos) << done;
  EXPECT_EQ(done.find("start 19"), std::string::npos) << done;
  done = world.at(120);
  EXPECT_NE(done.find("@120 start 20 on 1:1"), std::string::npos) << done;
  EXPECT_EQ(world.state().ledger.free_gpus(), 0);
}

// One GPU is free on each node, and a small job is on the first.
TEST(GandivaMoves, MakesAServerWholeByMovingSmallJobs) {
  GandivaWorld world("2x4");
  EXPECT_EQ(world.at(0, {job(3), job(1)}), "@0 start 0 on 0:3, @0 start 1 on 1:1");
  EXPECT_EQ(world.at(1, {job(2)}), "@1 start 2 on 1:2");
  EXPECT_EQ(world.at(100, {job(2)}), "@100 stop 1, @100 start 1 on 0:1, @100 start 3 on 1:2");
}

TEST(GandivaMoves, SpreadsWhereNobodyMayBeMoved) {
  GandivaWorld world("2x4", with_min_run(200));
  world.at(0, {job(3), job(1)});
  world.at(1, {job(2)});
  EXPECT_EQ(world.at(100, {job(2)}), "@100 start 3 on 0:1 1:1");
}

TEST(GandivaMoves, MovesNobodyWhoWouldNotFitElsewhere) {
  GandivaWorld world("2x4");
  EXPECT_EQ(world.at(0, {job(3), job(3)}), "@0 start 0 on 0:3, @0 start 1 on 1:3");
  EXPECT_EQ(world.at(100, {job(2)}), "@100 start 2 on 0:1 1:1");
}

TEST(GandivaMoves, ASpreadGangComesTogether) {
  GandivaWorld world("2x4", with_min_run(60));
  world.at(0, {job(3), job(3)});
  EXPECT_EQ(world.at(1, {job(2)}), "@1 start 2 on 0:1 1:1");
  EXPECT_EQ(world.at(100, {world.end(1)}), "@100 stop 2, @100 start 2 on 1:2");
}

TEST(GandivaMoves, ASpreadGangComesTogetherLaterIfItIsTooYoung) {
  GandivaWorld world("2x4");
  world.at(0, {job(3), job(3)});
  EXPECT_EQ(world.at(90, {job(2)}), "@90 start 2 on 0:1 1:1");
  EXPECT_EQ(world.at(100, {world.end(1)}), "");
  EXPECT_EQ(world.at(500), "@180 stop 2, @180 start 2 on 1:2");
}

TEST(GandivaMoves, AGangOfWholeServersComesTogetherToo) {
  GandivaWorld world("4x4");
  EXPECT_EQ(world.at(0, {job(2), job(3), job(3), job(4)}),
            "@0 start 0 on 0:2, @0 start 1 on 1:3, @0 start 2 on 2:3, @0 start 3 on 3:4");
  EXPECT_EQ(world.at(1, {world.end(3), job(8)}), "@1 start 4 on 0:2 1:1 2:1 3:4");
  EXPECT_EQ(world.at(100, {world.end(1)}), "@100 stop 4, @100 start 4 on 1:4 3:4");
  EXPECT_EQ(world.at(200, {world.end(0)}), "") << "it needs two nodes anyway";
}

TEST(GandivaMoves, AllWhoShareASeatComeTogether) {
  GandivaWorld world("2x4");
  EXPECT_EQ(world.at(0, {job(4), job(2)}), "@0 start 0 on 0:4, @0 start 1 on 1:2");
  EXPECT_EQ(world.at(1, {world.end(0), job(1), job(1)}), "@1 start 2 on 0:1, @1 start 3 on 0:1");
  EXPECT_EQ(world.at(2, {job(4)}), "@2 start 4 on 0:2 1:2");
  EXPECT_EQ(world.at(3, {job(4)}), "@3 start 5 on 0:2 1:2, @3 4+5 turns");
  EXPECT_EQ(world.at(100, {world.end(1)}),
            "@100 stop 4, @100 stop 5, @100 start 4 on 1:4, @100 start 5 on 1:4");
}

// On each node, the gang has one GPU and a small job the other; none is idle.
TEST(GandivaMoves, ASpreadGangChangesPlacesWithSmallJobs) {
  GandivaWorld world("2x2");
  EXPECT_EQ(world.at(0, {job(2), job(1), job(1)}),
            "@0 start 0 on 0:2, @0 start 1 on 1:1, @0 start 2 on 1:1");
  EXPECT_EQ(world.at(1, {world.end(0), job(1)}), "@1 start 3 on 0:1");
  EXPECT_EQ(world.at(2, {world.end(2), job(2)}), "@2 start 4 on 0:1 1:1");
  EXPECT_EQ(world.at(50, {job(4)}), "") << "too early";
  EXPECT_EQ(world.at(100, {cancel(5)}),
            "@100 stop 3, @100 stop 4, @100 start 3 on 1:1, @100 start 4 on 0:2");
  EXPECT_EQ(world.at(900, {job(4)}), "");
}

// The gang has one GPU of each of two nodes and a whole node; small jobs have the others.
TEST(GandivaMoves, AGangOfSeveralNodesChangesPlacesWithSmallJobs) {
  GandivaWorld world("3x2");
  EXPECT_EQ(world.at(0, {job(1), job(1), job(1)}),
            "@0 start 0 on 0:1, @0 start 1 on 0:1, @0 start 2 on 1:1");
  EXPECT_EQ(world.at(1, {world.end(0), job(4)}), "@1 start 3 on 0:1 1:1 2:2");
  EXPECT_EQ(world.at(50, {job(6)}), "") << "too early";
  EXPECT_EQ(world.at(100, {cancel(4)}),
            "@100 stop 1, @100 stop 3, @100 start 1 on 1:1, @100 start 3 on 0:2 2:2");
  EXPECT_EQ(world.at(900, {job(6)}), "") << "it needs two nodes anyway";
}

TEST(GandivaMoves, AGangOfSeveralNodesStartsOnNodesThatSmallJobsLeave) {
  GandivaWorld world("3x2");
  world.at(0, {job(1), job(1), job(1)});
  EXPECT_EQ(world.at(1, {world.end(0)}), "");
  EXPECT_EQ(world.at(100, {job(4)}), "@100 stop 1, @100 start 1 on 1:1, @100 start 3 on 0:2 2:2");
}

TEST(GandivaMoves, AGangOfTwoRacksChangesPlacesWithSmallJobsOfOneRack) {
  GandivaWorld world("4x2,racks=2", {}, {}, kUsualSpread);
  EXPECT_EQ(world.at(0, {job(2), job(1), job(1)}),
            "@0 start 0 on 0:2, @0 start 1 on 1:1, @0 start 2 on 1:1");
  EXPECT_EQ(world.at(1, {job(1), job(1)}), "@1 start 3 on 2:1, @1 start 4 on 2:1");
  EXPECT_EQ(world.at(2, {world.end(0), job(4)}), "@2 start 5 on 0:2 3:2");
  EXPECT_EQ(world.at(50, {job(8)}), "") << "too early";
  EXPECT_EQ(world.at(100, {cancel(6)}),
            "@100 stop 1, @100 stop 2, @100 stop 5, @100 start 1 on 3:1, @100 start 2 on 3:1, "
            "@100 start 5 on 0:2 1:2");
}

// Two small jobs hold the first node, a gang one GPU of the second and of the third. Only the first
// node and the idle fourth one could be whole.
TEST(GandivaMoves, NobodyLeavesAClosedNodeForAGangOfSeveralNodes) {
  for (const bool closed : {false, true}) {
    GandivaWorld world("4x2");
    world.at(0, {job(1), job(1), job(1), job(1), job(1), job(1), job(2)});
    EXPECT_EQ(world.at(1, {world.end(3), world.end(5), job(2)}), "@1 start 7 on 1:1 2:1");
    EXPECT_EQ(world.at(2, {world.end(2), world.end(4), world.end(6)}), "");
    std::vector<Event> events = {job(4)};
    if (closed) events.emplace_back(NodeClosed{NodeId(0)});
    EXPECT_EQ(world.at(60, events),
              closed ? "@60 start 8 on 1:1 2:1 3:2"
                     : "@60 stop 0, @60 stop 1, @60 start 0 on 1:1, @60 start 1 on 2:1, "
                       "@60 start 8 on 0:2 3:2");
  }
}

TEST(GandivaMoves, AGangThatSuffersGetsAwayFromItsNeighbours) {
  GandivaWorld world("3x4", {});
  EXPECT_EQ(world.at(0, {job(4), job(2), job(6)}),
            "@0 start 0 on 0:4, @0 start 1 on 1:2, @0 start 2 on 1:2 2:4");
  world.says[2] = 0.75;
  EXPECT_EQ(world.at(100, {world.end(0)}), "") << "it has said nothing yet";
  // Elastic jobs make it look at every slice as long as they could grow.
  EXPECT_EQ(world.at(110, {stretching(1, 2)}), "@110 start 3 on 0:1");
  EXPECT_EQ(world.at(125), "") << "it would have neighbors everywhere";
  EXPECT_EQ(world.at(130, {cancel(3)}), "@130 stop 3, @130 stop 2, @130 start 2 on 0:4 2:2");
}

TEST(GandivaMoves, ElasticJobsGrowWhileNobodyWantsTheGpus) {
  GandivaWorld world("1x8");
  EXPECT_EQ(world.at(0, {stretching(2, 7)}), "@0 start 0 on 0:2");
  world.says[0] = 1;
  EXPECT_EQ(world.at(60), "@60 stop 0, @60 start 0 on 0:4") << "when it has said how fast it is";
  world.says[0] = 1.8;
  EXPECT_EQ(world.at(120), "@120 stop 0, @120 start 0 on 0:7") << "up to its most";
  world.says[0] = 2.5;
  EXPECT_EQ(world.at(5000), "");
}

TEST(GandivaMoves, WhoHardlyGainsGivesTheGpusBackForGood) {
  GandivaWorld world("1x8");
  EXPECT_EQ(world.at(0, {stretching(2, 8)}), "@0 start 0 on 0:2");
  world.says[0] = 1;
  EXPECT_EQ(world.at(60), "@60 stop 0, @60 start 0 on 0:4");
  world.says[0] = 1.09;
  EXPECT_EQ(world.at(120), "@120 stop 0, @120 start 0 on 0:2");
  EXPECT_EQ(world.at(5000), "");
}

TEST(GandivaMoves, WhoSaysNothingAfterGrowingIsNotBelieved) {
  GandivaWorld world("1x8");
  world.at(0, {stretching(2, 8)});
  EXPECT_EQ(world.at(60), "@60 stop 0, @60 start 0 on 0:4");
  world.silent = {0};
  EXPECT_EQ(world.at(5000), "@300 stop 0, @300 start 0 on 0:2") << "after three slices more";
}

TEST(GandivaMoves, WhoSaysNothingDoesNotGrow) {
  GandivaWorld world("1x8");
  world.silent = {0};
  EXPECT_EQ(world.at(0, {stretching(2, 8)}), "@0 start 0 on 0:2");
  EXPECT_EQ(world.at(1000), "");
}

TEST(GandivaMoves, GrowsNoFurtherThanItsServerHas) {
  GandivaWorld world("2x4");
  EXPECT_EQ(world.at(0, {job(4), stretching(3, 8)}), "@0 start 0 on 0:4, @0 start 1 on 1:3");
  EXPECT_EQ(world.at(60), "@60 stop 1, @60 start 1 on 1:4");
}

TEST(GandivaMoves, NobodyGrowsWhileOthersShare) {
  GandivaWorld world("3x2");
  world.at(0, {job(2), job(2), job(2)});
  EXPECT_EQ(world.at(1, {job(2)}), "@1 start 3 on 0:2, @1 0+3 turns");
  EXPECT_EQ(world.at(2, {cancel(2), stretching(1, 2)}), "@2 stop 2, @2 start 4 on 2:1");
  EXPECT_EQ(world.at(200), "");
  EXPECT_EQ(world.at(201, {world.end(3)}), "@201 0 alone");
  EXPECT_EQ(world.at(300), "@240 stop 4, @240 start 4 on 2:2");
}

TEST(GandivaMoves, GrownJobsShrinkWhenLoadRises) {
  GandivaWorld world("1x8");
  world.at(0, {stretching(2, 4), stretching(2, 4)});
  EXPECT_EQ(world.at(60), "@60 stop 0, @60 stop 1, @60 start 0 on 0:4, @60 start 1 on 0:4");
  world.says = {{0, 5}, {1, 5}};
  EXPECT_EQ(world.at(200), "");
  EXPECT_EQ(world.at(201, {job(2)}), "@201 stop 1, @201 start 1 on 0:2, @201 start 2 on 0:2");
  EXPECT_EQ(world.at(202, {job(2)}), "@202 stop 0, @202 start 0 on 0:2, @202 start 3 on 0:2");
  EXPECT_EQ(world.at(203, {job(2)}), "@203 start 4 on 0:2, @203 0+4 turns");
}

TEST(GandivaMoves, ShrinksOnlyForOneWhoStartsByIt) {
  GandivaWorld world("1x4");
  world.at(0, {stretching(2, 4)});
  EXPECT_EQ(world.at(60), "@60 stop 0, @60 start 0 on 0:4");
  EXPECT_EQ(world.at(61, {job(3)}), "") << "three would not be free";
  EXPECT_EQ(world.at(62, {job(4)}), "") << "no job shares with a grown job";
  EXPECT_EQ(world.at(63, {job(1)}), "@63 stop 0, @63 start 0 on 0:2, @63 start 3 on 0:1");
}

}  // namespace
}  // namespace muster
