// Gandiva without tenants: where a job starts, with which jobs it is time-sliced, and why it
// waited.

#include "engine/planner/gandiva.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "engine/planner/gandiva_testing.h"

namespace muster {
namespace {

JobSubmitted picky(std::int32_t gpus, int type) {
  JobSubmitted wish = job(gpus);
  wish.spec.gpu_type = GpuTypeId(type);
  return wish;
}

Topology two_types() {
  Topology topology;
  EXPECT_FALSE(topology.add_node("k", "r", "k80", {4, 12000, 400, 0}));
  EXPECT_FALSE(topology.add_node("v", "r", "v100", {4, 12000, 400, 0}));
  return topology;
}

TEST(Gandiva, PrefersServersOfItsAffinity) {
  GandivaWorld world("4x4");
  EXPECT_EQ(world.at(0, {job(1)}), "@0 start 0 on 0:1");
  EXPECT_EQ(world.at(1, {job(2)}), "@1 start 1 on 1:2") << "the node is idle";
  EXPECT_EQ(world.at(2, {job(1)}), "@2 start 2 on 0:1") << "with others of its size";
  EXPECT_EQ(world.at(3, {job(2)}), "@3 start 3 on 1:2");
  EXPECT_EQ(world.at(4, {job(4)}), "@4 start 4 on 2:4");
}

TEST(Gandiva, TakesTheLeastLoadedServerOfItsAffinity) {
  GandivaWorld world("3x4");
  EXPECT_EQ(world.at(0, {job(2), job(2)}), "@0 start 0 on 0:2, @0 start 1 on 0:2");
  EXPECT_EQ(world.at(1, {job(2)}), "@1 start 2 on 1:2");
  EXPECT_EQ(world.at(2, {job(1), job(2), job(2)}),
            "@2 start 3 on 2:1, @2 start 4 on 1:2, @2 start 5 on 2:2");
  EXPECT_EQ(world.at(3, {world.end(0), world.end(4), world.end(2)}), "");
  EXPECT_EQ(world.at(4, {job(2)}), "@4 start 6 on 0:2") << "of the affinity; 1 is empty";
  GandivaWorld wide("2x8");
  EXPECT_EQ(wide.at(0, {job(3), job(1)}), "@0 start 0 on 0:3, @0 start 1 on 1:1");
  EXPECT_EQ(wide.at(1, {job(4)}), "@1 start 2 on 0:4") << "three and four are one class";
}

TEST(Gandiva, TheLargerClassIsTheAffinityOfAServerHeldByTwoAlike) {
  GandivaWorld world("2x6");
  EXPECT_EQ(world.at(0, {job(4), job(5)}), "@0 start 0 on 0:4, @0 start 1 on 1:5");
  EXPECT_EQ(world.at(1, {job(1), job(1)}), "@1 start 2 on 1:1, @1 start 3 on 0:1");
  EXPECT_EQ(world.at(2, {world.end(0), world.end(1)}), "");
  EXPECT_EQ(world.at(3, {job(2), job(1)}), "@3 start 4 on 0:2, @3 start 5 on 1:1");
}

TEST(Gandiva, TakesTheSmallestEmptyServer) {
  Topology topology;
  ASSERT_FALSE(topology.add_node("large", "r", "gpu", {8, 24000, 800, 0}));
  ASSERT_FALSE(topology.add_node("small", "r", "gpu", {4, 12000, 400, 0}));
  GandivaWorld world(std::move(topology), {});
  EXPECT_EQ(world.at(0, {job(2)}), "@0 start 0 on 1:2");
  EXPECT_EQ(world.at(1, {job(5)}), "@1 start 1 on 0:5");
}

TEST(Gandiva, TakesAnyServerBeforeSeveral) {
  GandivaWorld world("2x4");
  EXPECT_EQ(world.at(0, {job(2), job(1)}), "@0 start 0 on 0:2, @0 start 1 on 1:1");
  EXPECT_EQ(world.at(1, {job(3)}), "@1 start 2 on 1:3") << "of the wrong affinity";
  EXPECT_EQ(world.at(2, {world.end(1)}), "");
  EXPECT_EQ(world.at(3, {job(3)}), "@3 start 3 on 0:2 1:1") << "no job may be moved yet";
}

TEST(Gandiva, SpreadsOverOneRackIfItCan) {
  GandivaWorld world("6x4,racks=2");
  for (int i = 0; i < 6; ++i) world.at(0, {job(3)});  // One is left of each.
  EXPECT_EQ(world.at(1, {world.end(5)}), "");
  EXPECT_EQ(world.at(2, {job(4)}), "@2 start 6 on 5:4");
  EXPECT_EQ(world.at(3, {world.end(1)}), "");
  EXPECT_EQ(world.at(4, {job(5)}), "@4 start 7 on 0:1 1:4");
  EXPECT_EQ(world.at(5, {job(3)}), "@5 start 8 on 2:1 3:1 4:1") << "over both, if there is no way";
}

TEST(Gandiva, GangsLargerThanAServerTakeWholeOnes) {
  GandivaWorld world("4x4");
  EXPECT_EQ(world.at(0, {job(1)}), "@0 start 0 on 0:1");
  EXPECT_EQ(world.at(1, {job(8)}), "@1 start 1 on 1:4 2:4");
  EXPECT_EQ(world.at(2, {job(6)}), "@2 start 2 on 0:2 3:4");
  EXPECT_EQ(world.at(3, {job(8)}), "@3 start 3 on 1:4 2:4, @3 1+3 turns");
  EXPECT_EQ(world.at(4, {job(16)}), "") << "only in turns with as many";
  EXPECT_EQ(world.waited(4, 10), "order 6");
}

TEST(Gandiva, RefusesWhatCouldNeverRun) {
  GandivaWorld world("2x4");
  EXPECT_EQ(world.at(0, {job(0), job(9), job(8)}),
            "@0 reject 0: requests 0 GPUs, @0 reject 1: needs 9 GPUs, the cluster has 8, "
            "@0 start 2 on 0:4 1:4");
}

TEST(Gandiva, TakesTurnsWhenNothingIsIdle) {
  GandivaWorld world("1x4");
  EXPECT_EQ(world.at(0, {job(2), job(2)}), "@0 start 0 on 0:2, @0 start 1 on 0:2");
  EXPECT_EQ(world.at(1, {job(2)}), "@1 start 2 on 0:2, @1 0+2 turns");
  EXPECT_EQ(world.at(2, {job(2)}), "@2 start 3 on 0:2, @2 1+3 turns") << "with the fewest";
  EXPECT_EQ(world.at(3, {job(2)}), "@3 start 4 on 0:2, @3 0+2+4 turns");
  EXPECT_EQ(world.at(4, {job(1)}), "") << "only with as many GPUs";
  EXPECT_EQ(world.at(5, {world.end(0)}), "@5 2+4 turns");
  EXPECT_EQ(world.at(6, {world.end(4)}), "@6 2 alone");
  EXPECT_EQ(world.at(7, {world.end(2)}), "@7 start 5 on 0:1");
  EXPECT_EQ(world.waited(5, 99), "order 3");
}

TEST(Gandiva, NoMoreTakeTurnsThanItIsTold) {
  GandivaWorld world("1x1", at_most(2));
  EXPECT_EQ(world.at(0, {job(1), job(1), job(1)}),
            "@0 start 0 on 0:1, @0 start 1 on 0:1, @0 0+1 turns");
  EXPECT_EQ(world.at(10, {world.end(0)}), "@10 start 2 on 0:1, @10 1+2 turns");
  EXPECT_EQ(world.waited(2, 99), "order 10");
  GandivaWorld alone("1x1", at_most(1));
  EXPECT_EQ(alone.at(0, {job(1), job(1)}), "@0 start 0 on 0:1");
  EXPECT_EQ(alone.at(9999, {alone.end(0)}), "@9999 start 1 on 0:1");
}

TEST(Gandiva, JoinsAServerOfItsAffinityRatherThanAnother) {
  GandivaWorld world("2x3");
  EXPECT_EQ(world.at(0, {job(2)}), "@0 start 0 on 0:2");
  EXPECT_EQ(world.at(1, {job(1)}), "@1 start 1 on 1:1");
  EXPECT_EQ(world.at(2, {job(1), job(1), job(1)}),
            "@2 start 2 on 1:1, @2 start 3 on 1:1, @2 start 4 on 0:1");
  EXPECT_EQ(world.at(3, {world.end(1)}), "") << "the seat of this one is used again";
  EXPECT_EQ(world.at(4, {job(1)}), "@4 start 5 on 1:1");
  EXPECT_EQ(world.at(5, {job(1), job(1), job(1), job(1)}),
            "@5 start 6 on 1:1, @5 start 7 on 1:1, @5 start 8 on 1:1, @5 start 9 on 0:1, "
            "@5 2+7 turns, @5 3+8 turns, @5 4+9 turns, @5 5+6 turns");
}

TEST(Gandiva, KeepsToTheGpuTypeAskedFor) {
  GandivaWorld world(two_types(), at_most(2));
  EXPECT_EQ(world.at(0, {picky(4, 1)}), "@0 start 0 on 1:4");
  EXPECT_EQ(world.at(1, {picky(4, 1)}), "@1 start 1 on 1:4, @1 0+1 turns");
  EXPECT_EQ(world.at(2, {picky(4, 1)}), "") << "others are idle but of no use";
  EXPECT_EQ(world.at(12, {job(4)}), "@12 start 3 on 0:4");
  EXPECT_EQ(world.waited(2, 12), "order 10");
  EXPECT_EQ(world.at(13, {job(4)}), "@13 start 4 on 0:4, @13 3+4 turns");
  EXPECT_EQ(world.at(14, {picky(4, 0)}), "");
  EXPECT_EQ(world.at(15, {world.end(3)}), "@15 start 5 on 0:4, @15 4+5 turns");
  EXPECT_EQ(world.at(16, {picky(5, 1)}),
            "@16 reject 6: needs 5 GPUs of type v100, the cluster has 4");
}

TEST(Gandiva, ASpreadGangOfMixedTypesIsNoCompanyForThePicky) {
  GandivaWorld world(two_types(), {});
  EXPECT_EQ(world.at(0, {job(3), job(3)}), "@0 start 0 on 0:3, @0 start 1 on 1:3");
  EXPECT_EQ(world.at(1, {job(2)}), "@1 start 2 on 0:1 1:1");
  EXPECT_EQ(world.at(2, {picky(2, 1)}), "");
  EXPECT_EQ(world.at(3, {job(2)}), "@3 start 4 on 0:1 1:1, @3 2+4 turns");
}

TEST(Gandiva, TheOldestOfAllSizesComesFirst) {
  GandivaWorld world("1x4", at_most(1));
  EXPECT_EQ(world.at(0, {job(4), job(3), job(2), job(2)}), "@0 start 0 on 0:4");
  EXPECT_EQ(world.at(9, {world.end(0)}), "@9 start 1 on 0:3");
  EXPECT_EQ(world.at(10, {job(1)}), "@10 start 4 on 0:1") << "a smaller one overtakes";
  EXPECT_EQ(world.at(20, {world.end(1)}), "@20 start 2 on 0:2");
}

TEST(Gandiva, NobodyStartsOnAClosedServer) {
  GandivaWorld world("2x2");
  EXPECT_EQ(world.at(0, {job(1), NodeClosed{NodeId(0)}}), "@0 start 0 on 1:1");
  EXPECT_EQ(world.at(1, {job(1)}), "@1 start 1 on 1:1");
  EXPECT_EQ(world.at(2, {job(1)}), "@2 start 2 on 1:1, @2 0+2 turns");
  EXPECT_EQ(world.at(3, {NodeOpened{NodeId(0)}}), "") << "no job has had a slice yet";
  EXPECT_EQ(world.at(70), "@60 stop 0, @60 2 alone, @60 start 0 on 0:1") << "but the other has";
}

TEST(Gandiva, NorTakesTurnsThere) {
  GandivaWorld world("2x2");
  EXPECT_EQ(world.at(0, {job(1), job(1), job(1), job(1)}),
            "@0 start 0 on 0:1, @0 start 1 on 0:1, @0 start 2 on 1:1, @0 start 3 on 1:1");
  EXPECT_EQ(world.at(1, {NodeClosed{NodeId(0)}, world.end(1)}), "");
  EXPECT_EQ(world.at(2, {job(1)}), "@2 start 4 on 1:1, @2 2+4 turns") << "not with job 0";
}

TEST(Gandiva, CancelledMembersLeaveTheOthersTheirSeat) {
  GandivaWorld world("1x2");
  EXPECT_EQ(world.at(0, {job(2), job(2), job(2)}),
            "@0 start 0 on 0:2, @0 start 1 on 0:2, @0 start 2 on 0:2, @0 0+1+2 turns");
  EXPECT_EQ(world.at(1, {cancel(0)}), "@1 stop 0, @1 1+2 turns");
  EXPECT_EQ(world.at(2, {job(2), cancel(1)}), "@2 stop 1, @2 2+3 turns, @2 start 3 on 0:2");
  EXPECT_EQ(world.at(3, {cancel(2), cancel(3), cancel(9)}), "@3 stop 2, @3 stop 3");
  EXPECT_EQ(world.at(4, {job(1), job(1)}), "@4 start 4 on 0:1, @4 start 5 on 0:1");
  EXPECT_EQ(world.at(5, {job(2), cancel(6)}), "");
  EXPECT_EQ(world.state().waiting, 0U);
}

TEST(Gandiva, AnEndNobodyAskedForPutsTheJobBackIntoTheQueue) {
  GandivaWorld world("1x2");
  EXPECT_EQ(world.at(0, {job(2), job(2)}), "@0 start 0 on 0:2, @0 start 1 on 0:2, @0 0+1 turns");
  EXPECT_EQ(world.at(9, {world.end(0, LeaseOutcome::kStopped)}), "@9 start 0 on 0:2, @9 1+0 turns");
  EXPECT_EQ(world.at(10, {world.end(1)}), "@10 0 alone");
}

TEST(Gandiva, JobsTakeTurnsIfNoGpuTakesMoreOfThem) {
  GandivaWorld world("1x1", at_most(2));
  EXPECT_EQ(world.at(0, {job(1)}), "@0 start 0 on 0:1");
  EXPECT_EQ(world.at(20, {job(1)}), "@20 start 1 on 0:1, @20 0+1 turns");
  EXPECT_EQ(world.at(30, {job(1)}), "");
  EXPECT_EQ(world.at(2000), "@1800 stop 0, @1800 1+2 turns, @1800 start 2 on 0:1");
  EXPECT_EQ(world.at(3599), "") << "job 1 has not run much longer than job 0";
  EXPECT_EQ(world.at(3700), "@3600 stop 2, @3600 1+0 turns, @3600 start 0 on 0:1") << "overdue";
}

TEST(Gandiva, AJobThatGaveItsPlaceWaitsBehindTheOthers) {
  GandivaWorld world("1x1", at_most(2));
  world.at(0, {job(1)});
  world.at(20, {job(1)});
  EXPECT_EQ(world.at(30, {job(1), job(1), job(1)}), "");
  EXPECT_EQ(world.at(2000), "@1800 stop 0, @1800 1+2 turns, @1800 start 2 on 0:1");
  EXPECT_EQ(world.at(2400), "@2400 stop 1, @2400 2+3 turns, @2400 start 3 on 0:1");
  EXPECT_EQ(world.at(2401, {world.end(2)}), "@2401 start 4 on 0:1, @2401 3+4 turns");
  EXPECT_EQ(world.at(2402, {world.end(3)}), "@2402 start 0 on 0:1, @2402 4+0 turns");
}

// Four small jobs at a time, one after another without end, would always have the node.
TEST(Gandiva, AGangWaitsForYoungerJobsNoLongerThanItsPatience) {
  GandivaWorld world("1x4", at_most(2));
  EXPECT_EQ(world.at(0, {job(1), job(1), job(1), job(1)}),
            "@0 start 0 on 0:1, @0 start 1 on 0:1, @0 start 2 on 0:1, @0 start 3 on 0:1");
  EXPECT_EQ(world.at(10, {job(4)}), "");
  int oldest = 0;
  int next = 5;
  std::int64_t now = 10;
  while (world.state().jobs[JobId(4)].state == JobState::kWaiting && now < 4000) {
    now += 50;
    std::vector<Event> events = {job(1)};
    if (world.state().jobs[JobId(oldest)].state == JobState::kPlaced) {
      events.push_back(world.end(oldest));
      if (++oldest == 4) ++oldest;
    }
    world.at(now, events);
    ++next;
  }
  EXPECT_EQ(world.state().jobs[JobId(4)].state, JobState::kPlaced);
  EXPECT_LE(now, 10 + 1800 + 100) << "younger ones were stopped when they had had a slice";
  EXPECT_EQ(world.at(now + 1, {world.end(4)}).find("stop"), std::string::npos);
}

TEST(Gandiva, AGangThatIsOverdueWaitsForOlderJobs) {
  GandivaWorld world("1x2", at_most(1));
  EXPECT_EQ(world.at(0, {job(1), job(2)}), "@0 start 0 on 0:1");
  EXPECT_EQ(world.at(5, {job(1)}), "@5 start 2 on 0:1");
  EXPECT_EQ(world.at(1799), "");
  EXPECT_EQ(world.at(5000), "") << "to stop job 2 would not help";
  EXPECT_EQ(world.at(6000, {world.end(0)}), "@6000 stop 2, @6000 start 1 on 0:2");
  EXPECT_EQ(world.at(7000, {world.end(1)}), "@7000 start 2 on 0:1");
}

TEST(Gandiva, NobodyIsStoppedForAnOlderJobBeforeItsTime) {
  GandivaOptions options = at_most(1);
  options.min_run = Duration::seconds(300);
  GandivaWorld world("1x2", options);
  EXPECT_EQ(world.at(0, {job(1), job(1), job(2)}), "@0 start 0 on 0:1, @0 start 1 on 0:1");
  EXPECT_EQ(world.at(1700, {world.end(0), job(1)}), "@1700 start 3 on 0:1");
  EXPECT_EQ(world.at(1790, {world.end(1), job(1)}), "@1790 start 4 on 0:1");
  EXPECT_EQ(world.at(1900, {world.end(3), job(1)}), "") << "kept for the older one";
  EXPECT_EQ(world.at(9000), "@2100 stop 4, @2100 start 2 on 0:2");
  EXPECT_EQ(world.waited(5, 2500), "fragmentation 200, order 400");
}

}  // namespace
}  // namespace muster
