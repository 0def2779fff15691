// Optimus without tenants: how many GPUs each job gets, where, and when that changes.

#include "engine/planner/optimus.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "engine/planner/optimus_testing.h"

namespace muster {
namespace {

// Hardly gains by more than two workers, and loses by more than three.
constexpr Scaling kBad = {1, 0.05, 0.12};

// Trial runs that measure the scaling of jobs without a profile.
std::vector<Event> trials(const Scaling& scaling) {
  Life life;
  life.scaling = scaling;
  std::vector<Event> events;
  for (const int gpus : {1, 2, 3, 5, 7, 8, 9, 10}) {
    events.push_back(TypeMeasured{ProfileTable::kUnknown, gpus, life.steps_per_second(gpus)});
  }
  return events;
}

Life optimus_passes(double steps) {
  Life life;
  life.pass_steps = steps;
  return life;
}

Life never_converges(double passes) {
  Life life;
  life.loss.b0 = 0;
  life.passes = passes;
  return life;
}

OptimusOptions min_run(std::int64_t seconds) {
  OptimusOptions options;
  options.min_run = Duration::seconds(seconds);
  return options;
}

TEST(Optimus, GivesAllThereIsByGain) {
  OptimusWorld world("2x4");
  EXPECT_EQ(world.at(0, {world.job(elastic(8))}), "@0 start 0 on 0:4 1:4");
  EXPECT_EQ(world.at(600, {world.job(elastic(8))}),
            "@600 stop 0, @600 start 0 on 0:4, @600 start 1 on 1:4");
}

TEST(Optimus, PlansInRoundsOnly) {
  OptimusWorld world("2x4");
  EXPECT_EQ(world.at(30, {world.job(elastic(4))}), "");
  EXPECT_EQ(world.at(599), "");
  EXPECT_EQ(world.at(600), "@600 start 0 on 0:4");
  EXPECT_EQ(world.waited(0, 600), "order 570");
}

TEST(Optimus, EveryJobHasItsLeastFirst) {
  OptimusWorld world("1x4");
  JobSpec two = elastic(8);
  two.gpus = two.fewest = 2;
  world.at(0, {world.job(two), world.job(elastic(8))});
  world.at(600, {world.job(elastic(8))});
  EXPECT_EQ(world.shares(), "2 1 1");
}

TEST(Optimus, GivesMoreToTheJobWithMoreToGain) {
  OptimusWorld world("2x8");
  world.at(0, {world.job(elastic(16), optimus_passes(100)),
               world.job(elastic(16), optimus_passes(3000))});
  world.at(3000);  // Both have reported what their passes take.
  EXPECT_GT(world.gpus(1), 2 * world.gpus(0)) << world.shares();
  EXPECT_EQ(world.gpus(0) + world.gpus(1), 16);
}

TEST(Optimus, WhatIsForeseenOfAJobCountsInsteadOfItsLoss) {
  OptimusWorld world("1x8");
  const Life silent = never_converges(1000);
  world.at(0, {world.job(elastic(8), silent), world.job(elastic(8), silent)});
  EXPECT_EQ(world.shares(), "4 4");
  const auto predicted = [&](int job, std::int64_t hours) {
    const Epoch epoch = world.engine().lease(JobId(job)).epoch;
    return JobPredicted{JobId(job), epoch, Duration::seconds(hours * 3600)};
  };
  world.at(900, {predicted(0, 1), predicted(1, 100)});
  world.at(1200);
  EXPECT_GT(world.gpus(1), 2 * world.gpus(0)) << world.shares();
  world.at(1500, {predicted(0, 100), predicted(1, 1)});
  world.at(1800);
  EXPECT_GT(world.gpus(0), 2 * world.gpus(1)) << world.shares();
}

TEST(Optimus, WhatWasForeseenOfARestoredJobStillCounts) {
  OptimusWorld world("1x8");
  const auto restored = [&](std::int64_t hours) {
    JobRestored back;
    back.spec = world.job(elastic(8), never_converges(1000)).spec;
    back.estimate = Duration::seconds(hours * 3600);
    return back;
  };
  const JobRestored brief = restored(1);
  JobRestored lengthy = restored(100);
  lengthy.placement = {{NodeId(0), 0b1, 1000, 1000, 0}};
  lengthy.epoch = 1;
  world.at(0, {brief, lengthy});
  world.at(600);
  EXPECT_GT(world.gpus(1), 2 * world.gpus(0)) << world.shares();
}

TEST(Optimus, StopsGivingWhereNothingIsGained) {
  OptimusWorld world("2x8");
  world.at(0, trials(kBad));
  Life life = optimus_passes(3000);
  life.scaling = kBad;
  world.at(600, {world.job(elastic(16), life)});
  EXPECT_EQ(world.gpus(0), 3) << "1 / sqrt(0.12) workers are the fastest";
}

TEST(Optimus, LearnsFromReportsThatMoreWorkersAreNoFaster) {
  OptimusWorld world("2x8");
  Life life = optimus_passes(2000);
  life.scaling = kBad;
  std::vector<Event> events;
  for (const int most : {16, 2, 3, 4, 1}) events.push_back(world.job(elastic(most), life));
  world.at(0, events);
  EXPECT_EQ(world.shares(), "6 2 3 4 1") << "as if each worker brought as much as the first";
  world.at(1800);
  EXPECT_LE(world.gpus(0), 3);
  EXPECT_LE(world.gpus(3), 3);
}

TEST(Optimus, AJobThatHasNearlyConvergedMakesWay) {
  OptimusWorld world("1x8");
  const Life life = optimus_passes(600);
  world.at(0, {world.job(elastic(8), life)});
  world.at(1800, {world.job(elastic(8), life)});
  const int early = world.gpus(1);
  // The first has done some 25 of its 30 passes by the time the second has done 5.
  while (world.engine().state().jobs[JobId(0)].state == JobState::kPlaced && world.now() < 9000) {
    world.run(1);
    if (world.gpus(0) < world.gpus(1)) break;
  }
  EXPECT_LE(early, 4);
  EXPECT_FALSE(world.is_over(0));
  EXPECT_GT(world.gpus(1), 4) << world.shares() << " at " << world.now();
}

TEST(Optimus, WhoNeverConvergesNeitherHogsNorStarves) {
  OptimusWorld world("1x8");
  // After the cap of 100 epochs it is always estimated to have 20 left.
  const Life endless = never_converges(400);
  Life usual;
  usual.passes = 60;
  world.at(0, {world.job(elastic(8), endless), world.job(elastic(8), usual)});
  int most = 0;
  for (int round = 0; round < 3; ++round) {
    world.run(1);
    most = std::max(most, world.gpus(0));
    EXPECT_GE(world.gpus(0), 1);
  }
  EXPECT_LE(most, 5);
  for (int job = 2; job < 8; ++job) {  // It keeps running with any number of arrivals.
    world.at(static_cast<std::int64_t>(world.now()) + 1, {world.job(elastic(8), usual)});
    world.run(2);
    EXPECT_GE(world.gpus(0), 1) << world.now();
  }
  world.run(5000);
  for (int job = 0; job < 8; ++job) EXPECT_TRUE(world.is_over(job)) << job;
}

TEST(Optimus, ResizesOnlyWhereThatIsWorthARestart) {
  OptimusOptions options;
  for (const std::int64_t cost : {40, 4000}) {
    options.restart_cost = Duration::seconds(cost);
    OptimusWorld world("1x8", options);
    EXPECT_EQ(world.at(0, {world.job(gang(4)), world.job(elastic(8))}),
              "@0 start 0 on 0:4, @0 start 1 on 0:4");
    // Some 20 passes of 360 steps are left, on four workers half an hour.
    EXPECT_EQ(world.at(600, {world.end(0)}), cost == 40 ? "@600 stop 1, @600 start 1 on 0:8" : "");
  }
}

TEST(Optimus, AJobOfWhichLittleIsKnownStandsBack) {
  OptimusOptions options;
  options.restart_cost = Duration();
  OptimusWorld world("1x5", options);
  Life silent = never_converges(100);
  silent.reports = false;
  world.at(0, {world.job(elastic(8), silent), world.job(elastic(8), never_converges(100))});
  world.at(5 * 600 - 1);
  EXPECT_EQ(world.shares(), "3 2") << "equal estimates: the older job wins";
  world.at(5 * 600);
  EXPECT_EQ(world.shares(), "2 3") << "the second has reported five losses";
}

TEST(Optimus, SettlesDown) {
  OptimusWorld world("4x8");
  std::vector<Event> events;
  for (int i = 0; i < 6; ++i)
    events.push_back(world.job(elastic(16), optimus_passes(5000 + 10 * i)));
  world.at(0, events);
  world.at(20 * 600);
  for (int job = 0; job < 6; ++job) EXPECT_LE(world.starts(job), 4) << job;
}

TEST(Optimus, GangsAreWhole) {
  OptimusWorld world("2x4");
  EXPECT_EQ(world.at(0, {world.job(gang(3)), world.job(gang(3)), world.job(gang(3))}),
            "@0 start 0 on 0:3, @0 start 1 on 1:3");
  EXPECT_EQ(world.at(600, {world.job(gang(2))}), "@600 start 3 on 0:1 1:1") << "one on either";
  EXPECT_EQ(world.waited(2, 600), "order 600");
  EXPECT_EQ(world.at(1200, {world.end(0)}), "@1200 start 2 on 0:3");
}

TEST(Optimus, AnOlderGangComesBeforeYoungerJobs) {
  OptimusWorld world("1x4");
  EXPECT_EQ(world.at(0, {world.job(gang(3)), world.job(gang(4)), world.job(gang(1))}),
            "@0 start 2 on 0:1, @0 start 0 on 0:3");
  EXPECT_EQ(world.at(600, {world.end(0)}), "@600 stop 2, @600 start 1 on 0:4");
  EXPECT_EQ(world.at(1200, {world.end(1)}), "@1200 start 2 on 0:1");
}

TEST(Optimus, WithMoreJobsThanGpusTheOldestRunAndAllEnd) {
  OptimusWorld world("2x4");
  std::vector<Event> events;
  for (int i = 0; i < 30; ++i) {
    events.push_back(world.job(i % 3 == 0 ? gang(1 + i % 4) : elastic(1 + i % 5)));
  }
  world.at(0, events);
  EXPECT_EQ(world.shares().substr(0, 13), "1 1 1 4 1 0 0");
  world.run(3000);
  for (int i = 0; i < 30; ++i) EXPECT_TRUE(world.is_over(i)) << i;
}

TEST(Optimus, RefusesWhatCouldNeverRun) {
  OptimusWorld world("2x4");
  JobSpec odd = elastic(8);
  odd.fewest = 3;
  odd.most = 2;
  EXPECT_EQ(world.at(0, {world.job(gang(0)), world.job(gang(9)), world.job(odd)}),
            "@0 reject 0: requests 0 GPUs, @0 reject 1: needs 9 GPUs, the cluster has 8, "
            "@0 reject 2: minimum number of GPUs, 3, is above the maximum, 2");
  JobSpec large = elastic(100);
  large.gpus = 50;
  EXPECT_EQ(world.at(600, {world.job(large)}), "@600 start 3 on 0:4 1:4") << "on fewer it can";
}

Topology two_gpu_types(std::int32_t first, std::int32_t second) {
  Topology topology;
  const auto add = [&](const char* name, const char* type, std::int32_t gpus) {
    MUSTER_CHECK(!topology.add_node(name, "r", type, {gpus, gpus * 3000, gpus * 64'000, 1000}));
  };
  add("s0", "old", first);
  add("s1", "new", second);
  return topology;
}

JobSpec of_type(JobSpec spec, int type) {
  spec.gpu_type = GpuTypeId(type);
  return spec;
}

TEST(Optimus, AGangHasGpusOfOneType) {
  OptimusWorld world(two_gpu_types(4, 6), {});
  EXPECT_EQ(world.at(0, {world.job(elastic(16))}), "@0 start 0 on 1:6") << "where most are idle";
  EXPECT_EQ(world.at(600, {world.job(of_type(elastic(16), 1)), world.job(of_type(gang(4), 0))}),
            "@600 stop 0, @600 start 2 on 0:4, @600 start 0 on 1:3, @600 start 1 on 1:3");
  EXPECT_EQ(world.at(1200, {world.job(gang(7))}),
            "@1200 reject 3: needs 7 GPUs of one type, there are at most 6");
}

TEST(Optimus, IdleGpusOfTwoTypesAreNotOneGang) {
  OptimusWorld world(two_gpu_types(4, 4), {});
  EXPECT_EQ(world.at(0, {world.job(of_type(gang(2), 0)), world.job(of_type(gang(4), 0)),
                         world.job(gang(2)), world.job(gang(3))}),
            "@0 start 0 on 0:2, @0 start 2 on 1:2");
  EXPECT_EQ(world.waited(1, 600), "order 600");
  EXPECT_EQ(world.waited(3, 600), "fragmentation 600") << "two are free on either node";
  EXPECT_EQ(world.at(1200, {world.end(0)}), "@1200 start 1 on 0:4");
  EXPECT_EQ(world.at(1800, {world.end(1)}), "@1800 start 3 on 0:3");
}

TEST(Optimus, TheYoungerMovesToTheOtherType) {
  OptimusWorld world(two_gpu_types(4, 4), {});
  EXPECT_EQ(world.at(0, {world.job(of_type(gang(3), 0)), world.job(of_type(gang(4), 0)),
                         world.job(of_type(gang(4), 1)), world.job(gang(1))}),
            "@0 start 3 on 0:1, @0 start 0 on 0:3, @0 start 2 on 1:4");
  EXPECT_EQ(world.at(600, {world.end(0), world.end(2)}),
            "@600 stop 3, @600 start 3 on 1:1, @600 start 1 on 0:4");
}

TEST(Optimus, WhoHasJustBegunIsLeftAlone) {
  OptimusWorld world("1x8", min_run(900));
  EXPECT_EQ(world.at(0, {world.job(elastic(8), optimus_passes(2000))}), "@0 start 0 on 0:8");
  EXPECT_EQ(world.at(600, {world.job(elastic(8), optimus_passes(2000))}), "");
  EXPECT_EQ(world.at(1200), "@1200 stop 0, @1200 start 0 on 0:4, @1200 start 1 on 0:4");
  EXPECT_EQ(world.waited(1, 1200), "order 600");
}

// Otherwise the stream of small jobs would keep the old gang out for good.
TEST(Optimus, NobodyBeginsWhereAnOlderJobWaitsForTheYoung) {
  OptimusWorld world("1x4", min_run(1000));
  EXPECT_EQ(world.at(0, {world.job(gang(1)), world.job(gang(2))}),
            "@0 start 0 on 0:1, @0 start 1 on 0:2");
  EXPECT_EQ(world.at(300, {world.job(gang(4))}), "");
  EXPECT_EQ(world.at(310, {world.job(gang(1))}), "");
  EXPECT_EQ(world.at(600), "@600 start 3 on 0:1") << "it is older jobs that it waits for";
  EXPECT_EQ(world.at(700, {world.end(0), world.end(1)}), "");
  EXPECT_EQ(world.at(1200, {world.job(gang(1))}), "") << "now it is job 3 alone";
  EXPECT_EQ(world.waited(4, 1800), "order 600");
  EXPECT_EQ(world.at(1800), "@1800 stop 3, @1800 start 2 on 0:4");
}

TEST(Optimus, AClosedServerTakesNobody) {
  OptimusWorld world("2x4");
  EXPECT_EQ(world.at(0, {NodeClosed{NodeId(0)}, world.job(elastic(8))}), "@0 start 0 on 1:4");
  EXPECT_EQ(world.at(600, {world.job(gang(4))}), "") << "the older keeps at least one";
  EXPECT_EQ(world.at(1200, {NodeOpened{NodeId(0)}}), "@1200 start 1 on 0:4");
}

TEST(Optimus, GoesOnWhenReportsAreNonsense) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  OptimusWorld world("1x8");
  Life silent = optimus_passes(2000);
  silent.reports = false;
  world.at(0, {world.job(elastic(8), silent), world.job(elastic(8), silent)});
  for (const double bad : {kNan, kInf, -kInf, -1.0, 1e300, 1e-300, 0.0}) {
    std::vector<Event> events = {TypeMeasured{ProfileId(0), 2, bad},
                                 TypeMeasured{ProfileId(9), 2, 1},
                                 TypeMeasured{ProfileId(0), -2, 1}};
    for (double JobReported::*field :
         {&JobReported::speed, &JobReported::steps, &JobReported::passes, &JobReported::loss}) {
      JobReported report = world.report(0);
      report.*field = bad;
      events.push_back(report);
    }
    world.at(static_cast<std::int64_t>(world.now()) + 600, events);
    EXPECT_GE(world.gpus(0), 1);
    EXPECT_GE(world.gpus(1), 1);
  }
  world.run(1000);
  EXPECT_TRUE(world.is_over(0) && world.is_over(1));
}

TEST(Optimus, SleepsWhenThereIsNobody) {
  OptimusWorld world("1x8");
  world.at(0, {world.job(elastic(8))});
  world.run(1000);
  EXPECT_TRUE(world.is_over(0));
  EXPECT_LT(world.now(), 3000) << "no rounds without jobs";
}

}  // namespace
}  // namespace muster
