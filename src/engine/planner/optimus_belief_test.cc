#include "engine/planner/optimus_belief.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace muster {
namespace {

constexpr ProfileId kSort(1);
constexpr ProfileId kOther(0);

OptimusBelief fresh() { return OptimusBelief(ConvergenceRule(), 2); }

// One step a second on one worker.
double truth(int workers) { return 1 / (0.9 / workers + 0.09 + 0.01 * workers); }

JobReported report(int job, double steps, double passes, double loss, Epoch epoch = 1) {
  return {JobId(job), epoch, 1, steps, passes, loss};
}
Instant at(std::int64_t second) { return Instant::at(Duration::seconds(second)); }

TEST(OptimusBelief, WithoutMeasurementsTwiceTheWorkersAreTwiceAsFast) {
  OptimusBelief belief = fresh();
  EXPECT_EQ(belief.speeds(kSort, 3), (std::vector<double>{1, 1, 2, 3}));
  for (const int gpus : {2, 4, 8, 8}) belief.learn(TypeMeasured{kSort, gpus, 0.5 * gpus});
  EXPECT_EQ(belief.speeds(kSort, 16)[10], 5) << "three numbers of workers do not make a curve";
  EXPECT_EQ(belief.speeds(kOther, 3)[2], 2);
}

TEST(OptimusBelief, LearnsSpeedsFromTrials) {
  OptimusBelief belief = fresh();
  for (const int gpus : {1, 2, 4, 6, 9}) belief.learn(TypeMeasured{kSort, gpus, truth(gpus)});
  for (const int gpus : {1, 3, 10, 20}) {
    EXPECT_NEAR(belief.speeds(kSort, 20)[static_cast<std::size_t>(gpus)], truth(gpus), 1e-9);
  }
  EXPECT_NEAR(belief.speeds(kSort, 40)[40], truth(40), 1e-9) << "beyond what was asked for before";
}

TEST(OptimusBelief, LearnsSpeedsFromReportsOfOneLease) {
  OptimusBelief belief = fresh();
  int job = 0;
  for (const int gpus : {1, 2, 4, 6, 9}) {
    belief.learn(report(job, 1000, 1, 0), at(0), kSort, gpus, true);
    belief.learn(report(job, 1000 + 600 * truth(gpus), 2, 0), at(600), kSort, gpus, true);
    // In another lease: what lies between says nothing of either.
    belief.learn(report(job++, 9e6, 3, 0, 2), at(1200), kSort, 1, true);
  }
  EXPECT_NEAR(belief.speeds(kSort, 20)[20], truth(20), 1e-9);
}

TEST(OptimusBelief, TakesTheMeanAndFitsAnewOnlyWhenItHasMoved) {
  OptimusBelief belief = fresh();
  belief.learn(TypeMeasured{kSort, 1, 1});
  EXPECT_EQ(belief.speeds(kSort, 1)[1], 1);
  belief.learn(TypeMeasured{kSort, 1, 1.06});
  EXPECT_EQ(belief.speeds(kSort, 1)[1], 1) << "by 3% only";
  belief.learn(TypeMeasured{kSort, 1, 1.24});
  EXPECT_DOUBLE_EQ(belief.speeds(kSort, 1)[1], 1.1);
}

// Converges after 33 passes of 100 steps: the loss falls as 5 / (passes + 5).
void describe_job(OptimusBelief& belief, int job, int from, int to, int stride = 1) {
  for (int pass = from; pass <= to; pass += stride) {
    belief.learn(report(job, 100.0 * pass, pass, 5.0 / (pass + 5)), at(pass * 100), kSort, 1, true);
  }
}

TEST(OptimusBelief, WhatIsLeftFollowsFromTheLosses) {
  OptimusBelief belief = fresh();
  describe_job(belief, 0, 0, 6);
  EXPECT_NEAR(belief.remaining_steps(JobId(0), kSort), 2700, 1e-6);
  describe_job(belief, 0, 7, 20);
  EXPECT_NEAR(belief.remaining_steps(JobId(0), kSort), 1300, 1e-6);
  describe_job(belief, 0, 21, 40);
  EXPECT_EQ(belief.remaining_steps(JobId(0), kSort), 0) << "though it has not ended";
}

TEST(OptimusBelief, OfANewJobItBelievesWhatItsSortHasTakenAPass) {
  OptimusBelief belief = fresh();
  EXPECT_EQ(belief.remaining_steps(JobId(7), kSort), 20 * 360);
  belief.learn(report(0, 100, 1, 0), at(0), kSort, 1, true);
  belief.learn(report(1, 600, 2, 0), at(0), kSort, 1, true);
  belief.learn(report(1, 900, 3, 0), at(9), kSort, 1, true);
  EXPECT_EQ(belief.remaining_steps(JobId(7), kSort), 20 * 200);
  EXPECT_EQ(belief.remaining_steps(JobId(7), kOther), 20 * 360);
  EXPECT_EQ(belief.remaining_steps(JobId(1), kSort), 20 * 300) << "no losses, but its own passes";
}

TEST(OptimusBelief, OneThatDoesNotConvergeHasAlwaysTheSameLeft) {
  OptimusBelief belief = fresh();
  for (int pass = 1; pass < 300; ++pass) {
    belief.learn(report(0, 50.0 * pass, pass, 2 + 0.1 * (pass % 3)), at(pass), kSort, 1, true);
    EXPECT_EQ(belief.remaining_steps(JobId(0), kSort), 20 * 50);
  }
}

TEST(OptimusBelief, ALongStoryIsThinnedAndStillRight) {
  OptimusBelief belief(ConvergenceRule{.threshold = 1e-6, .cap = 100'000}, 2);
  for (int pass = 0; pass <= 3000; ++pass) {
    describe_job(belief, 0, pass, pass);
    belief.remaining_steps(JobId(0), kSort);
  }
  // 50 / (e * e - 25) < 1e-6 from e = 7072 on.
  EXPECT_NEAR(belief.remaining_steps(JobId(0), kSort), 100 * (7072 - 3000), 101);
}

TEST(OptimusBelief, AJobThatFallsBackTellsTheSameAgain) {
  OptimusBelief belief = fresh();
  describe_job(belief, 0, 0, 20);
  describe_job(belief, 0, 10, 12);
  EXPECT_NEAR(belief.remaining_steps(JobId(0), kSort), 2100, 1e-6);
}

TEST(OptimusBelief, IsEarlyUntilSomeLossesAreKnown) {
  OptimusBelief belief = fresh();
  EXPECT_TRUE(belief.is_early(JobId(0)));
  describe_job(belief, 0, 0, 3);
  EXPECT_TRUE(belief.is_early(JobId(0)));
  describe_job(belief, 0, 4, 4);
  EXPECT_FALSE(belief.is_early(JobId(0)));
  belief.forget(JobId(0));
  EXPECT_TRUE(belief.is_early(JobId(0)));
}

TEST(OptimusBelief, NonsenseIsNotBelieved) {
  OptimusBelief belief = fresh();
  describe_job(belief, 0, 0, 20);
  for (const int gpus : {1, 2, 4, 6, 9}) belief.learn(TypeMeasured{kSort, gpus, truth(gpus)});
  const double left = belief.remaining_steps(JobId(0), kSort);
  const std::vector<double> speeds = belief.speeds(kSort, 20);
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (const double bad : {kNan, kInf, -kInf, -1.0, 1e300}) {
    belief.learn(report(0, bad, 21, 0.1), at(2100), kSort, 1, true);
    belief.learn(report(0, 2100, bad, 0.1), at(2100), kSort, 1, true);
    belief.learn(report(0, 2100, 21, bad), at(2100), kSort, 1, true);
    for (const int gpus : {1, 3}) belief.learn(TypeMeasured{kSort, gpus, bad});
    EXPECT_EQ(belief.remaining_steps(JobId(0), kSort), left) << bad;
    EXPECT_EQ(belief.speeds(kSort, 20), speeds) << bad;
  }
  for (const int gpus : {0, -1, std::numeric_limits<int>::min()}) {
    belief.learn(TypeMeasured{kSort, gpus, 1});
  }
  belief.learn(TypeMeasured{kSort, 1, 0});
  belief.learn(TypeMeasured{ProfileId(99), 1, 1});
  EXPECT_EQ(belief.speeds(kSort, 20), speeds);
  // Odd but possible: the result is still a number.
  belief.learn(TypeMeasured{kSort, std::numeric_limits<int>::max(), 1e9});
  belief.learn(report(5, 1e12, 1e-300, 1e12), at(0), kSort, 1, true);
  belief.learn(report(5, 0, 1e12, 1e-300), at(0), kSort, 1, true);
  for (const double speed : belief.speeds(kSort, 64))
    EXPECT_TRUE(speed > 0 && std::isfinite(speed));
  for (const int job : {0, 5, 6}) {
    const double steps = belief.remaining_steps(JobId(job), kSort);
    EXPECT_TRUE(steps >= 0 && std::isfinite(steps)) << steps;
  }
}

}  // namespace
}  // namespace muster
