// Behavior of each policy in a small cluster where every order takes effect immediately.

#include <gtest/gtest.h>

#include <set>
#include <string_view>
#include <vector>

#include "engine/policy/registry.h"
#include "engine/policy/testing.h"

namespace muster {
namespace {

TEST(Policies, HaveNamesAndOneLineEach) {
  std::set<std::string_view> names;
  for (const PolicyEntry& entry : policies()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name << " is listed twice";
    EXPECT_FALSE(entry.doc.empty() || entry.doc.ends_with('.')) << entry.name;
    EXPECT_TRUE(entry.make({}));
  }
  const auto missing = find_entry(policies(), "policy", "srtff");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().message, "--policy: unknown policy 'srtff'; did you mean 'srtf'?");
}

TEST(Fifo, LetsNobodyPassAJobThatDoesNotFit) {
  World world("fifo", "1x4");
  EXPECT_EQ(world.at(0, {job_of(3, 100), job_of(2, 100), job_of(1, 1)}), "start 0");
  EXPECT_EQ(world.at(1, {job_of(1, 1)}), "");
  EXPECT_EQ(world.at(100, {completed(0)}), "start 1, start 2, start 3");
}

TEST(FitFirst, PassesOverAJobThatDoesNotFit) {
  World world("fit-first", "1x4");
  EXPECT_EQ(world.at(0, {job_of(3, 100), job_of(2, 100), job_of(1, 900)}), "start 0, start 2");
  EXPECT_EQ(world.at(50, {job_of(1, 1)}), "");
  EXPECT_EQ(world.at(100, {completed(0)}), "start 1, start 3") << "oldest first again";
}

TEST(Backfill, LetsJobsPassThatEndBeforeTheHeadCouldStart) {
  World world("backfill", "1x4");
  EXPECT_EQ(world.at(0, {job_of(3, 100)}), "start 0");
  EXPECT_EQ(world.at(10, {job_of(4, 50)}), "") << "it gets its GPUs at 100";
  EXPECT_EQ(world.at(20, {job_of(1, 81)}), "") << "it would end at 101";
  EXPECT_EQ(world.at(20, {job_of(1, 80)}), "start 3");
  EXPECT_EQ(world.at(100, {completed(0), completed(3)}), "start 1");
}

TEST(Backfill, LendsTheGpusThatTheHeadWillLeaveOver) {
  World world("backfill", "1x5");
  EXPECT_EQ(world.at(0, {job_of(2, 100)}), "start 0");
  // Three of five are free, the head needs four: from 100 on, one is left over.
  EXPECT_EQ(
      world.at(10, {job_of(4, 50), job_of(1, 1000), job_of(1, 1000), job_of(1, 60), job_of(1, 90)}),
      "start 2, start 4, start 5");
  EXPECT_EQ(world.at(100, {completed(0), completed(4), completed(5)}), "start 1")
      << "it was not delayed";
}

TEST(Sjf, TakesTheShortestButLeavesTheRunningAlone) {
  World world("sjf", "1x4");
  EXPECT_EQ(world.at(0, {job_of(4, 1000)}), "start 0");
  EXPECT_EQ(world.at(1, {job_of(4, 30), job_of(4, 10), job_of(4, 20)}), "");
  EXPECT_EQ(world.at(9, {completed(0)}), "start 2");
}

TEST(Srtf, PreemptsForAShorterRestAndNotForAnEqualOne) {
  World world("srtf", "1x4");
  EXPECT_EQ(world.at(0, {job_of(4, 1000)}), "start 0");
  EXPECT_EQ(world.at(10, {job_of(4, 990)}), "") << "as much as job 0 has left";
  EXPECT_EQ(world.at(20, {job_of(4, 979)}), "stop 0, start 2") << "job 0 has 980 s left";
  EXPECT_EQ(world.at(999, {completed(2)}), "start 0") << "980 s left, before 990";
}

TEST(Srtf, FillsWhatIsFreeBeforeItPreempts) {
  World world("srtf", "2x4");
  EXPECT_EQ(world.at(0, {job_of(4, 1000)}), "start 0");
  EXPECT_EQ(world.at(10, {job_of(4, 5)}), "start 1");
  EXPECT_EQ(world.at(11, {job_of(4, 4)}), "stop 0, start 2") << "not job 1, which has 4 s left";
}

TEST(Srsf, WeighsTheRestByGpus) {
  World world("srsf", "1x4");
  EXPECT_EQ(world.at(0, {job_of(4, 100)}), "start 0");
  EXPECT_EQ(world.at(0, {job_of(1, 401)}), "");
  EXPECT_EQ(world.at(0, {job_of(1, 399)}), "stop 0, start 2, start 1")
      << "399 GPU seconds before 400";
}

TEST(Srsf, RanksTheLongestJobsBelievableWithoutOverflow) {
  World world("srsf", "16x64");
  EXPECT_EQ(world.at(0, {job_of(1024, kLongestDuration.us() / 1'000'000)}), "start 0");
  EXPECT_EQ(world.at(0, {job_of(1, 1)}), "stop 0, start 1");
}

TEST(SmallestFirst, PreemptsTheLargest) {
  World world("smallest-first", "1x4");
  EXPECT_EQ(world.at(0, {job_of(3, 10), job_of(1, 10)}), "start 1, start 0");
  EXPECT_EQ(world.at(1, {job_of(2, 10)}), "stop 0, start 2");
  EXPECT_EQ(world.at(2, {job_of(3, 10), job_of(2, 10)}), "") << "a tie is no reason to swap";
}

TEST(Las, SwapsOnlyAtTicksAndNotForATie) {
  World world("las", "1x4");
  EXPECT_EQ(world.at(0, {job_of(4, 5000)}), "start 0");
  EXPECT_EQ(world.at(10, {job_of(4, 5000)}), "") << "though it has had nothing yet";
  EXPECT_EQ(world.wake(), second(300));
  EXPECT_EQ(world.at(300, {}), "stop 0, start 1");
  EXPECT_EQ(world.at(600, {}), "") << "both have had 300 s";
  EXPECT_EQ(world.at(900, {}), "stop 1, start 0");
  EXPECT_EQ(world.at(1000, {completed(0, 2)}), "start 1");
  EXPECT_EQ(world.wake(), Instant::never()) << "no job waits";
}

TEST(Ftf, ServesTheWorstOffAtTicks) {
  World world("ftf", "1x4");
  EXPECT_EQ(world.at(0, {job_of(4, 1000)}), "start 0");
  EXPECT_EQ(world.at(0, {job_of(4, 10'000)}), "");
  EXPECT_EQ(world.at(10, {job_of(4, 100)}), "") << "not before the tick";
  // Waiting 290 s is nearly three times its run for job 2 and next to nothing for job 1.
  EXPECT_EQ(world.at(300, {}), "stop 0, start 2");
  EXPECT_EQ(world.at(400, {completed(2)}), "start 0") << "1.1 times as long as alone, against 1.04";
}

TEST(Drf, ServesTheSmallestShareAtTicks) {
  World world("drf", "1x4");
  EXPECT_EQ(world.at(0, {job_of(2, 9000), job_of(2, 9000)}), "start 0, start 1");
  EXPECT_EQ(world.at(100, {completed(1), job_of(1, 9000), job_of(1, 9000)}), "start 2, start 3");
  EXPECT_EQ(world.at(250, {job_of(1, 9000)}), "");
  // Job 0 has had 2 GPUs for 300 s, jobs 2 and 3 one for 200 s, job 4 nothing.
  EXPECT_EQ(world.at(300, {}), "stop 0, start 4");
}

TEST(Tetris, TakesWhatSuitsTheServersBest) {
  World world("tetris", "1x4");
  EXPECT_EQ(world.at(0, {job_of(1, 100), job_of(4, 100)}), "start 1") << "it fills the node";
  EXPECT_EQ(world.at(9, {job_of(2, 5), completed(1)}), "start 2, start 0");
}

TEST(MlfqLas, DemotesWhenTheGpuTimeReachesTheThreshold) {
  World world("mlfq-las", "1x2", queues({100}));
  EXPECT_EQ(world.at(0, {job_of(2, 1000)}), "start 0");
  EXPECT_EQ(world.wake(), second(50));  // 2 GPUs x 50 s.
  EXPECT_EQ(world.at(10, {job_of(1, 1000)}), "");
  EXPECT_EQ(world.at(49, {}), "");
  EXPECT_EQ(world.at(50, {}), "stop 0, start 1");
  EXPECT_EQ(world.wake(), second(150));
  EXPECT_EQ(world.at(150, {}), "stop 1, start 0");  // Now in one queue, and 0 was there first.
  EXPECT_EQ(world.wake(), Instant::never());        // The last queue has no end.
}

TEST(MlfqLas, ByTimeForgetsTheGpus) {
  PolicyOptions options = queues({100});
  options.by_time = true;
  World world("mlfq-las", "1x2", options);
  EXPECT_EQ(world.at(0, {job_of(2, 1000)}), "start 0");
  EXPECT_EQ(world.wake(), second(100));
}

TEST(MlfqLas, DemotesInTimeAlsoAfterAPreemption) {
  World world("mlfq-las", "1x2", queues({100, 200}));
  EXPECT_EQ(world.at(0, {job_of(2, 1000)}), "start 0");
  EXPECT_EQ(world.at(50, {job_of(2, 1000)}), "stop 0, start 1");  // 0 attained 100: second queue.
  EXPECT_EQ(world.at(80, {completed(1)}), "start 0");
  EXPECT_EQ(world.wake(), second(80 + 50));
}

TEST(MlfqLas, JobsOfOneQueueDoNotTakeGpusFromEachOther) {
  World world("mlfq-las", "1x2", queues({100}));
  EXPECT_EQ(world.at(0, {job_of(1, 1000), job_of(1, 1000), job_of(2, 1000)}), "start 0, start 1");
  EXPECT_EQ(world.at(20, {job_of(1, 1000)}), "");
  EXPECT_EQ(world.at(30, {completed(1)}), "start 3");  // 2 does not fit; 3 may overtake it.
}

// Sanity check 6 of the reference sheet: promotion forgets what was attained and what was waited.
TEST(Sanity, J6_PromotionResetsServiceAndWaiting) {
  World world("mlfq-las", "1x2", queues({100}, /*promote_permille=*/2000));
  EXPECT_EQ(world.at(0, {job_of(2, 10'000)}), "start 0");
  EXPECT_EQ(world.at(50, {job_of(2, 10'000)}), "stop 0, start 1");
  // Job 0 ran for 50 s and returns to the first queue, behind no other job, after waiting 100 s. At
  // 100 job 1 is in the second queue too and keeps running because it started there first.
  EXPECT_EQ(world.at(100, {}), "stop 1, start 0");
  EXPECT_EQ(world.at(110, {job_of(2, 10'000)}), "stop 0, start 2");
  EXPECT_EQ(world.at(160, {}), "stop 2, start 0");
  EXPECT_EQ(world.wake(), second(200));  // Job 1 ran 50 s and has waited since 100.
  EXPECT_EQ(world.at(200, {}), "stop 0, start 1");
  EXPECT_EQ(world.wake(), second(250));  // It attains the first threshold from nothing again,
  EXPECT_EQ(world.at(250, {}), "stop 1, start 0");
  EXPECT_EQ(world.wake(), second(260));  // and job 2, stopped at 160, is the next to return.
}

}  // namespace
}  // namespace muster
