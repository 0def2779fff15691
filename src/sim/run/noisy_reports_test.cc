#include "sim/run/noisy_reports.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/types/check.h"

namespace muster {
namespace {

ProfileTable one_profile(const LossFacts& loss) {
  ProfileTable table;
  Profile profile = Profile::matrix("m", {{1000}, {1000}, {1.0}});
  profile.state_loss(loss);
  profile.state_scaling({1, 0, 0});
  MUSTER_CHECK(table.add(std::move(profile)).ok());
  return table;
}

NoisyReports::Progress half_done() {
  return {ProfileId(1), 4, Duration::seconds(1000), Duration::seconds(500), 0.8};
}

TEST(NoisyReports, WithoutNoiseIsTheTruth) {
  const ProfileTable table = one_profile({0.3, 0.5, 0.1});
  NoisyReports testimony(table, 0, 1);
  const JobReported said = testimony.report(half_done());
  EXPECT_DOUBLE_EQ(said.speed, 0.8);
  EXPECT_DOUBLE_EQ(said.steps, 2000);  // Four GPUs make four steps per second here.
  EXPECT_DOUBLE_EQ(said.loss, 1 / (0.3 * said.passes + 0.5) + 0.1);
  NoisyReports::Progress done = half_done();
  done.done = done.work;
  EXPECT_DOUBLE_EQ(testimony.report(done).passes, 2 * said.passes);
}

TEST(NoisyReports, ALossThatNeverFallsIsReportedAsItIs) {
  const ProfileTable table = one_profile({0, 0.5, 0.1});
  NoisyReports testimony(table, 0, 1);
  EXPECT_DOUBLE_EQ(testimony.report(half_done()).loss, 2.1);
  EXPECT_GT(testimony.report(half_done()).passes, 0);
}

TEST(NoisyReports, RecordedLossesAreReportedUntilTheyConverge) {
  LossFacts recorded;
  recorded.epochs = 60;
  // Falls by 0.3 per epoch until epoch 10, rises, and then never changes.
  for (int epoch = 0; epoch <= 60; ++epoch) {
    recorded.points.push_back(epoch <= 10 ? 4 - 0.3 * epoch : 1.5);
  }
  const ProfileTable table = one_profile(recorded);
  NoisyReports testimony(table, 0, 1);
  const JobReported said = testimony.report(half_done());
  // From epoch 8 with a loss of 1.6 to epoch 18, the loss falls by less than 5% of 4.
  EXPECT_DOUBLE_EQ(said.passes, 9);
  EXPECT_DOUBLE_EQ(said.loss, 4 - 0.3 * 9);
}

TEST(NoisyReports, AJobEndsAfterTheRecordedEpochsAtTheLatest) {
  LossFacts recorded;
  recorded.points = {4, 3, 2, 1};
  recorded.epochs = 12;
  const ProfileTable table = one_profile(recorded);
  NoisyReports testimony(table, 0, 1);
  EXPECT_DOUBLE_EQ(testimony.report(half_done()).passes, 6);
  EXPECT_DOUBLE_EQ(testimony.report(half_done()).loss, 2.5);
}

TEST(NoisyReports, NoiseIsOfTheStatedSizeAndRepeatsWithTheSeed) {
  const ProfileTable table = one_profile({0.3, 0.5, 0.1});
  NoisyReports one(table, 0.05, 3);
  NoisyReports same(table, 0.05, 3);
  double squares = 0;
  for (int i = 0; i < 4000; ++i) {
    const double speed = one.report(half_done()).speed;
    EXPECT_EQ(speed, same.report(half_done()).speed);
    squares += (speed / 0.8 - 1) * (speed / 0.8 - 1);
  }
  EXPECT_NEAR(std::sqrt(squares / 4000), 0.05, 0.002);
}

TEST(NoisyReports, EachSortIsTriedOutOnce) {
  const ProfileTable table = one_profile({0.3, 0.5, 0.1});
  NoisyReports testimony(table, 0, 1);
  const std::vector<TypeMeasured> trials = testimony.trials(ProfileId(1));
  ASSERT_EQ(trials.size(), 8U);
  for (const TypeMeasured& trial : trials) {
    EXPECT_TRUE(trial.gpus >= 1 && trial.gpus <= 10);
    EXPECT_DOUBLE_EQ(trial.steps_per_second, trial.gpus);
  }
  EXPECT_TRUE(testimony.trials(ProfileId(1)).empty());
  EXPECT_EQ(testimony.trials(ProfileId(0)).size(), 8U);
}

}  // namespace
}  // namespace muster
