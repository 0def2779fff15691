// The policies that rank by the Gittins index.

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/types/random.h"
#include "engine/policy/registry.h"
#include "engine/policy/testing.h"

namespace muster {
namespace {

constexpr std::int64_t kSecond = 1'000'000;

JobFacts facts(int id, std::int64_t gpu_seconds, std::int32_t gpus = 1) {
  JobFacts facts;
  facts.id = JobId(id);
  facts.gpus = gpus;
  facts.gpu_us = gpu_seconds * kSecond;
  return facts;
}

// Jobs 0 (had nothing) and 1 (had 500 s) wait, 2 runs.
TEST(Gittins, RanksHoldUntilARenewalMovesThoseWhoRan) {
  for (const char* const name : {"gittins", "mlfq-gittins"}) {
    SCOPED_TRACE(name);
    const auto policy = find_entry(policies(), "policy", name).value()->make({});
    for (const int id : {0, 1, 2}) policy->submitted(facts(id, 0));
    policy->started(facts(1, 0));
    policy->stopped(facts(1, 500));
    policy->started(facts(2, 0));
    const auto first_is_ahead = [&] {
      return goes_before({JobId(0), policy->rank(facts(0, 0))},
                         {JobId(1), policy->rank(facts(1, 500))}, Instant());
    };
    const Rank rank_of_new = policy->rank(facts(0, 0));
    std::vector<JobId> moved;
    for (int id = 3; id < 23; ++id) {
      policy->reviewed(Instant(), moved);
      policy->submitted(facts(id, 0));
      policy->started(facts(id, 0));
      policy->ended(facts(id, 1000), /*completed=*/id < 22);
      EXPECT_TRUE(first_is_ahead());
    }
    policy->reviewed(Instant(), moved);
    EXPECT_TRUE(moved.empty()) << "19 completed, one was cancelled";
    policy->ended(facts(2, 1000), /*completed=*/true);
    EXPECT_TRUE(first_is_ahead()) << "without a given distribution";
    policy->reviewed(Instant(), moved);
    EXPECT_EQ(moved, std::vector<JobId>{JobId(1)});
    EXPECT_FALSE(first_is_ahead()) << "all needed 1000 s, so job 1 is the nearer to its end";
    EXPECT_EQ(order(policy->rank(facts(0, 0)), rank_of_new), 0) << "new jobs need not be moved";
  }
}

// After learning the same samples, all ranks are as with a given distribution.
TEST(Gittins, LearntIsAsGoodAsTold) {
  for (const char* const name : {"gittins", "mlfq-gittins"}) {
    SCOPED_TRACE(name);
    PolicyOptions options = queues({400});
    std::vector<std::int64_t> samples;
    for (std::int64_t i = 1; i <= 20; ++i) samples.push_back(i * i * i);
    const auto learns = find_entry(policies(), "policy", name).value()->make(options);
    options.service = seconds(samples);
    const auto knows = find_entry(policies(), "policy", name).value()->make(options);
    const std::vector<JobFacts> jobs = {facts(0, 0), facts(1, 300), facts(2, 0), facts(3, 300),
                                        facts(4, 450)};  // From 2 on they run.
    for (int i = 0; i < 20; ++i) {
      learns->submitted(facts(5 + i, 0));
      learns->started(facts(5 + i, 0));
      learns->ended(facts(5 + i, samples[static_cast<std::size_t>(i)]), /*completed=*/true);
    }
    for (const auto& policy : {&*learns, &*knows}) {
      for (int id = 0; id < 5; ++id) policy->submitted(facts(id, 0));
      for (const int id : {1, 3, 4}) {
        policy->started(facts(id, 0));
        policy->stopped(facts(id, 300));
      }
      for (const int id : {2, 3, 4}) policy->started(facts(id, id == 2 ? 0 : 300));
      for (const int id : {2, 3, 4}) policy->review(jobs[static_cast<std::size_t>(id)]);
      std::vector<JobId> moved;
      policy->reviewed(Instant(), moved);
    }
    for (const JobFacts& job : jobs) {
      EXPECT_EQ(order(learns->rank(job), knows->rank(job)), 0) << "job " << job.id.index();
    }
  }
}

// Contract of policies with PolicyTraits::remembers: the rank of a waiting job is constant unless
// reviewed() reports it, and no review is requested in the past.
TEST(Policies, RanksOfWaitingJobsHold) {
  struct Row {
    JobFacts facts;
    std::int64_t need = 0;
    bool running = false;
    bool done = false;
    Rank rank;  // While it waits.
  };
  for (const char* const name : {"mlfq-las", "gittins", "mlfq-gittins"}) {
    SCOPED_TRACE(name);
    Random random(3);
    const auto policy =
        find_entry(policies(), "policy", name).value()->make(queues({50, 200}, 2000));
    std::vector<Row> rows;
    std::vector<JobId> moved;
    for (std::int64_t now = 0; now < 2000; ++now) {
      Row fresh;
      fresh.facts = facts(static_cast<int>(now), 0, 1 << random.below(3));
      fresh.need = kSecond * static_cast<std::int64_t>(1 + random.below(20) * random.below(20));
      policy->submitted(fresh.facts);
      fresh.rank = policy->rank(fresh.facts);
      rows.push_back(fresh);
      for (Row& row : rows) {
        row.facts.now = second(now);
        if (!row.running) continue;
        row.facts.gpu_us += row.facts.gpus * kSecond;
        if (row.facts.gpu_us < row.need) continue;
        row.running = false;
        row.done = true;
        policy->ended(row.facts, /*completed=*/true);
      }
      for (const Row& row : rows) {
        if (row.running) policy->review(row.facts);
      }
      moved.clear();
      policy->reviewed(second(now), moved);
      for (const JobId id : moved) rows[id.index()].rank = policy->rank(rows[id.index()].facts);
      for (const Row& row : rows) {
        if (row.running || row.done) continue;
        ASSERT_EQ(order(policy->rank(row.facts), row.rank), 0) << row.facts.id.index();
      }
      for (Row& row : rows) {
        if (row.done || random.below(10) != 0) continue;
        row.running = !row.running;
        row.running ? policy->started(row.facts) : policy->stopped(row.facts);
        if (!row.running) row.rank = policy->rank(row.facts);
      }
      ASSERT_GT(policy->review_at(), second(now));
    }
    EXPECT_GT(std::count_if(rows.begin(), rows.end(), [](const Row& row) { return row.done; }),
              500);
  }
}

TEST(Gittins, StaysWhileTheIndexRisesAndSwapsWhenItFalls) {
  PolicyOptions options;
  options.service = seconds({1000, 1000, 10'000});
  options.gittins_quantum = Duration::seconds(1000);
  World world("gittins", "1x1", options);
  EXPECT_EQ(world.at(0, {job_of(1, 1)}), "start 0");
  EXPECT_EQ(world.at(10, {job_of(1, 1)}), "");
  for (const int tick : {300, 600, 900}) EXPECT_EQ(world.at(tick, {}), "");  // las would swap.
  EXPECT_EQ(world.at(1200, {}), "stop 0, start 1") << "it is not of the thousands: index zero";
  for (const int tick : {1500, 1800, 2100}) EXPECT_EQ(world.at(tick, {}), "");
  EXPECT_EQ(world.at(2400, {}), "") << "zero both: no reason to swap";
  EXPECT_EQ(world.at(2500, {job_of(1, 1)}), "");
  EXPECT_EQ(world.at(2700, {}), "stop 1, start 2") << "a new one before either";
  EXPECT_EQ(world.at(2800, {completed(2)}), "start 0") << "zero both: the older";
}

TEST(Gittins, IsLasUntilEnoughIsKnown) {
  World world("gittins", "1x4");
  EXPECT_EQ(world.at(0, {job_of(4, 5000)}), "start 0");
  EXPECT_EQ(world.at(10, {job_of(4, 5000)}), "");
  EXPECT_EQ(world.at(300, {}), "stop 0, start 1");
  EXPECT_EQ(world.at(600, {}), "") << "both have had 300 s";
  EXPECT_EQ(world.at(900, {}), "stop 1, start 0");
}

TEST(Gittins, WhatItLearnsReordersWhoWaits) {
  for (const int count : {19, 20}) {
    World world("gittins", "1x21");
    std::vector<Event> first(21, job_of(1, 1));
    world.at(0, first);
    // Job 20 is preempted and, as with las, ranks behind jobs without service.
    EXPECT_EQ(world.at(100, {job_of(1, 1), LeaseEnded{JobId(20), 1, LeaseOutcome::kStopped}}),
              "start 21");
    EXPECT_EQ(world.at(110, {job_of(1, 1)}), "");
    std::vector<Event> ends;
    for (int i = 0; i < count; ++i) ends.push_back(completed(static_cast<std::uint32_t>(i)));
    EXPECT_EQ(world.at(290, ends), count < 20 ? "start 22, start 20" : "start 20, start 22");
  }
}

// Ours on the example of the slides, in units of 300 s: the ties fall to the older job.
TEST(Sanity, C7_GittinsToy) {
  constexpr std::int64_t kUnit = 300;
  PolicyOptions options = queues({12 * kUnit});
  options.service = seconds({4 * kUnit, 8 * kUnit, 12 * kUnit});
  options.gittins_quantum = Duration::seconds(12 * kUnit);
  for (const char* const name : {"gittins", "mlfq-gittins"}) {
    SCOPED_TRACE(name);
    World world(name, "1x2", options);
    EXPECT_EQ(world.at(0, {job_of(2, 1), job_of(1, 1), job_of(2, 1)}), "start 0");
    EXPECT_EQ(world.at(2 * kUnit, {completed(0)}), "start 1");
    for (std::int64_t unit = 3; unit < 10; ++unit) EXPECT_EQ(world.at(unit * kUnit, {}), "");
    EXPECT_EQ(world.at(10 * kUnit, {completed(1)}),
              "start 2");  // And ends at 16: (2 + 10 + 16) / 3.
  }
}

TEST(MlfqGittins, TheQueueGoesBeforeTheIndex) {
  PolicyOptions options = queues({100});
  options.service = seconds({110, 110, 110, 5000});
  World world("mlfq-gittins", "1x1", options);
  EXPECT_EQ(world.at(0, {job_of(1, 1)}), "start 0");
  EXPECT_EQ(world.at(10, {job_of(1, 1)}), "");
  EXPECT_EQ(world.wake(), second(100));
  EXPECT_EQ(world.at(100, {}), "stop 0, start 1") << "though it would soon end";
}

TEST(MlfqGittins, WeighsTheRunningOnceAQuantumAndZeroIsLast) {
  PolicyOptions options = queues({100});
  options.service = seconds({50, 150, 500});
  World world("mlfq-gittins", "1x1", options);
  EXPECT_EQ(world.at(0, {job_of(1, 1)}), "start 0");
  EXPECT_EQ(world.at(100, {}), "") << "in the second queue, alone";
  EXPECT_EQ(world.wake(), second(200)) << "a quantum later";
  EXPECT_EQ(world.at(200, {}), "");
  EXPECT_EQ(world.at(210, {job_of(1, 1)}), "stop 0, start 1");
  // Half of the jobs that reached 100 end by 200; no job that reached 210 ends by 310.
  EXPECT_EQ(world.at(310, {}), "") << "both in the second queue";
  EXPECT_EQ(world.at(410, {}), "") << "now zero both: no reason to swap";
  EXPECT_EQ(world.at(420, {job_of(1, 1)}), "stop 1, start 2");
  EXPECT_EQ(world.at(530, {completed(2)}), "start 0") << "zero both: the older";
  EXPECT_EQ(world.wake(), second(630));
}

TEST(MlfqGittins, JobsOfOneQueueAreServedByIndex) {
  PolicyOptions options = queues({100});
  options.service = seconds({170, 1000, 1000, 1000, 1000});  // The index rises up to 170.
  World world("mlfq-gittins", "1x2", options);
  EXPECT_EQ(world.at(0, {job_of(1, 1), job_of(1, 1)}), "start 0, start 1");
  EXPECT_EQ(world.at(100, {}), "") << "both in the second queue";
  EXPECT_EQ(world.at(105, {LeaseEnded{JobId(0), 1, LeaseOutcome::kStopped}, job_of(1, 1)}),
            "start 2")
      << "job 0 could have had more for its quantum than job 1, but that has begun";
  EXPECT_EQ(world.at(130, {job_of(1, 1)}), "stop 1, start 3");
  EXPECT_EQ(world.at(140, {completed(2)}), "start 1") << "it has had 130 s, the older one 105";
  EXPECT_EQ(world.wake(), second(230));
  EXPECT_EQ(world.at(230, {}), "stop 3, start 0") << "one queue now, and 105 s against 100";
  EXPECT_EQ(world.at(240, {}), "stop 1, start 3") << "after its quantum job 1 is past the 170";
}

TEST(MlfqGittins, WithoutKnowledgeJobsOfOneQueueLeaveEachOtherAlone) {
  World world("mlfq-gittins", "1x2", queues({100}));
  EXPECT_EQ(world.at(0, {job_of(1, 1), job_of(1, 1), job_of(2, 1)}), "start 0, start 1");
  EXPECT_EQ(world.at(20, {job_of(1, 1)}), "");
  EXPECT_EQ(world.at(30, {completed(1)}), "start 3");  // 2 does not fit; 3 may overtake it.
  EXPECT_EQ(world.at(100, {}), "");
  EXPECT_EQ(world.at(130, {}), "stop 0, stop 3, start 2") << "the last in the first queue";
}

TEST(MlfqGittins, PromotesAfterLongWaiting) {
  World world("mlfq-gittins", "1x2", queues({100}, /*promote_permille=*/2000));
  EXPECT_EQ(world.at(0, {job_of(2, 1)}), "start 0");
  EXPECT_EQ(world.at(50, {job_of(2, 1)}), "stop 0, start 1");
  EXPECT_EQ(world.at(100, {}), "") << "both in the second queue";
  EXPECT_EQ(world.wake(), second(150)) << "job 0 ran 50 s and has waited for 100";
  EXPECT_EQ(world.at(150, {}), "stop 1, start 0");
  EXPECT_EQ(world.wake(), second(200)) << "it attains the threshold from nothing again";
}

// Where the index falls with service, new jobs stand before one that was stopped in their queue.
TEST(MlfqGittins, PromotesInsideTheFirstQueueToo) {
  for (const bool promotes : {false, true}) {
    PolicyOptions options = queues({500}, promotes ? 2000 : 0);
    options.service = seconds({10, 10, 10, 5000});
    World world("mlfq-gittins", "1x1", options);
    EXPECT_EQ(world.at(0, {job_of(1, 1)}), "start 0");
    EXPECT_EQ(world.at(40, {job_of(1, 1)}), "") << "an arrival takes nothing from its own queue";
    EXPECT_EQ(world.at(50, {LeaseEnded{JobId(0), 1, LeaseOutcome::kStopped}}), "start 1");
    EXPECT_EQ(world.at(60, {job_of(1, 1)}), "");
    EXPECT_EQ(world.wake(), promotes ? second(150) : second(550)) << "else job 1's demotion";
    EXPECT_EQ(world.at(150, {}), "");
    EXPECT_EQ(world.at(160, {completed(1)}), promotes ? "start 0" : "start 2");
  }
}

}  // namespace
}  // namespace muster
