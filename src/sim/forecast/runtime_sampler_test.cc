// Samples of work come from similar jobs, and arrivals from the recent past.

#include "sim/forecast/runtime_sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace muster {
namespace {

Instant moment(std::int64_t second) { return Instant::at(Duration::seconds(second)); }

JobSpec spec_of(std::uint64_t user, std::uint64_t name) {
  JobSpec spec;
  spec.user = UserId(user);
  spec.name = NameId(name);
  return spec;
}

// Users 0 to 9 whose jobs take about 100 s, 200 s, 400 s and so on.
RunTimeModel model_of_users(Random& random, double factor = 1) {
  RunTimeModel model;
  for (int i = 0; i < 1'000; ++i) {
    const std::uint64_t user = random.below(10);
    const double seconds = factor * static_cast<double>(100U << user);
    const double work = seconds * portable_exp(0.3 * random.normal());
    model.learn(spec_of(user, 0), Duration::micros(static_cast<std::int64_t>(work * 1e6)));
  }
  return model;
}

double median_left(const RunTimeModel& model, const JobSpec& spec, Duration done, Random& random) {
  std::vector<double> all;
  for (int i = 0; i < 401; ++i) {
    RunTimeModel::Sample sample(model, random);
    all.push_back(sample.left(spec, done).in_seconds());
  }
  std::nth_element(all.begin(), all.begin() + 200, all.end());
  return all[200];
}

TEST(RunTimeModel, UsesTheJobsOfTheSameUser) {
  Random random(1);
  const RunTimeModel model = model_of_users(random);
  for (const std::uint64_t user : {0U, 5U, 9U}) {
    const auto typical = static_cast<double>(100U << user);
    EXPECT_NEAR(model.likely(spec_of(user, 0), {}).in_seconds() / typical, 1, 0.2) << user;
    EXPECT_NEAR(median_left(model, spec_of(user, 0), {}, random) / typical, 1, 0.25) << user;
  }
}

// An unknown user has the run times of all users, with a wide spread; four jobs change that.
TEST(RunTimeModel, ShrinksSmallGroupsTowardsWiderOnes) {
  Random random(2);
  RunTimeModel model = model_of_users(random);
  const JobSpec fresh = spec_of(77, 5);
  EXPECT_GT(model.likely(fresh, {}).in_seconds(), 500);
  EXPECT_LT(model.likely(fresh, {}).in_seconds(), 8'000);
  for (int i = 0; i < 4; ++i) model.learn(fresh, Duration::seconds(30));
  EXPECT_LT(model.likely(fresh, {}).in_seconds(), 90);
}

TEST(RunTimeModel, ConditionsOnTheTimeAlreadyRun) {
  Random random(3);
  const RunTimeModel model = model_of_users(random);
  const JobSpec spec = spec_of(3, 0);  // About 800 s.
  for (int i = 0; i < 100; ++i) {
    RunTimeModel::Sample sample(model, random);
    EXPECT_GT(sample.left(spec, Duration::seconds(1'000)), Duration());
  }
  const double left = median_left(model, spec, Duration::seconds(1'000), random);
  EXPECT_GT(left, 50);
  EXPECT_LT(left, 500);
  // It has run longer than all jobs: about as long again.
  const double beyond = median_left(model, spec, Duration::seconds(20'000), random);
  EXPECT_GT(beyond, 5'000);
  EXPECT_LT(beyond, 60'000);
}

TEST(RunTimeModel, FollowsAShift) {
  Random random(4);
  RunTimeModel model = model_of_users(random);
  for (int i = 0; i < 1'000; ++i) {
    const std::uint64_t user = random.below(10);
    model.learn(spec_of(user, 0), Duration::seconds(300 << user));
  }
  EXPECT_NEAR(model.likely(spec_of(4, 0), {}).in_seconds(), 4'800, 700);
}

// The jobs of a new array are all short or all long: one simulation does not mix them.
TEST(RunTimeModel, SharesTheErrorOfAGroup) {
  Random random(5);
  RunTimeModel model;
  for (std::uint64_t array = 0; array < 60; ++array) {
    const double typical = 600 * portable_exp(1.5 * random.normal());
    for (int i = 0; i < 10; ++i) {
      const double work = typical * portable_exp(0.1 * random.normal());
      model.learn(spec_of(1, array), Duration::micros(static_cast<std::int64_t>(work * 1e6)));
    }
  }
  double apart = 0;
  for (int i = 0; i < 200; ++i) {
    RunTimeModel::Sample sample(model, random);
    const double one = sample.left(spec_of(1, 900), {}).in_seconds();
    const double other = sample.left(spec_of(1, 900), {}).in_seconds();
    apart += std::max(one, other) / std::min(one, other) > 2 ? 1 : 0;
  }
  EXPECT_LT(apart, 40);
}

TEST(RunTimeModel, UsesTheEstimateOfAnUnknownUser) {
  Random random(6);
  const RunTimeModel model = model_of_users(random);
  JobSpec external_job = spec_of(33, 1);
  external_job.estimate = Duration::seconds(60);
  EXPECT_LT(median_left(model, external_job, {}, random), 100);
  JobSpec mine = spec_of(1, 1);
  mine.estimate = Duration::seconds(40 * 60);
  EXPECT_NEAR(RunTimeModel().likely(mine, Duration()).in_seconds(), 2'400, 1);
  EXPECT_NEAR(RunTimeModel().likely(mine, Duration::seconds(600)).in_seconds(), 1'900, 200);
}

std::vector<ArrivalModel::Arrival> draw(const ArrivalModel& model, Instant now, Duration horizon) {
  // The end of the arrivals is random: take a sample that lasts.
  for (std::uint64_t seed = 1;; ++seed) {
    Random random(seed);
    auto all = model.draw(now, now + horizon, random);
    if (!all.empty() && now + horizon - all.back().at < Duration::seconds(7'200)) return all;
    if (seed == 200) return all;
  }
}

// Eight jobs in the first two seconds of a manager do not predict thousands of arrivals.
TEST(ArrivalModel, DoesNotTakeABurstForTheRate) {
  ArrivalModel model;
  for (int i = 0; i < 8; ++i) model.record(Instant::micros(250'000 * i), JobSpec());
  const Instant now = moment(3);
  for (std::uint64_t seed = 1; seed < 50; ++seed) {
    Random random(seed);
    EXPECT_LT(model.draw(now, now + Duration::seconds(60 * 86'400), random).size(), 80U);
  }
}

TEST(ArrivalModel, KeepsTheRate) {
  ArrivalModel model;
  for (int i = 0; i < 2'000; ++i) model.record(moment(60 * i), JobSpec());
  const Instant now = moment(120'000);
  const auto all = draw(model, now, Duration::seconds(60'000));
  EXPECT_NEAR(static_cast<double>(all.size()), 1'000, 120);
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_LE(all[i - 1].at, all[i].at);
  EXPECT_GE(all.front().at, now);
}

// Users who submit only between 8:00 and 16:00 do so tomorrow, too.
TEST(ArrivalModel, RepeatsTheHoursOfTheDay) {
  ArrivalModel model;
  for (int day = 0; day < 5; ++day) {
    for (int hour = 8; hour < 16; ++hour) {
      for (int i = 0; i < 20; ++i) {
        model.record(moment(day * 86'400 + hour * 3'600 + i * 180), JobSpec());
      }
    }
  }
  const Instant now = moment(5 * 86'400);
  const auto all = draw(model, now, Duration::seconds(86'400));
  int night = 0;
  for (const auto& arrival : all) {
    const double hour = (arrival.at - now).in_hours();
    night += hour < 6 || hour > 18 ? 1 : 0;
  }
  EXPECT_GT(all.size(), 60U);
  EXPECT_LT(night, 5);
}

}  // namespace
}  // namespace muster
