// Bands hold about four of five starts, on a history made up here; and what they are made from.

#include "sim/forecast/calibration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "engine/scheduler/scheduler.h"

namespace muster {
namespace {

struct World {
  explicit World(const char* policy) : engine(make(policy)) {}
  Engine make(const char* policy) {
    PlannerOptions wanted;
    wanted.parts.policy = policy;
    MadePlanner made = make_planner(cluster, wanted);
    EngineOptions options;
    options.pooling = made.pooling;
    options.estimates = EstimateSource::Kind::kHistory;
    return {cluster, std::move(made.planner), options};
  }
  Topology topology = parse_cluster_shorthand("4x4").value();
  ProfileTable profiles;
  Cluster cluster{topology, profiles};
  Engine engine;
};

// Users whose jobs take very different times, on a cluster that is nearly full.
std::vector<FutureArrival> history(std::size_t jobs, std::uint64_t seed) {
  Random random(seed);
  std::vector<FutureArrival> all;
  Instant at;
  for (std::size_t i = 0; i < jobs; ++i) {
    at = at + Duration::micros(static_cast<std::int64_t>(random.exponential(330e6)));
    JobSpec spec;
    spec.user = UserId(random.below(6));
    spec.gpus = 1 << random.below(3);
    const double typical = 400.0 * (1 + spec.user.index());
    const double work = typical * portable_exp(0.8 * random.normal());
    all.push_back({at, spec, Duration::micros(static_cast<std::int64_t>(work * 1e6))});
  }
  return all;
}

TEST(Calibration, BandsHoldFourOfFive) {
  for (const char* policy : {"fifo", "srtf"}) {
    World world(policy);
    CalibrationOptions options;
    options.eta.most_drives = 4;
    const CalibrationReport report = calibrate(world.engine, history(1'500, 3), options);
    SCOPED_TRACE(policy);
    EXPECT_EQ(report.jobs, 1'500U);
    EXPECT_GT(report.asked, 300U);
    EXPECT_EQ(report.inside + report.before + report.after, report.asked);
    EXPECT_GE(report.share(), 0.75);
    EXPECT_LE(report.share(), 0.85);
    // And not by being endless.
    EXPECT_LT(report.width.in_seconds(), 8 * report.wait.in_seconds() + 3'600);
  }
}

TEST(ForecastErrors, WidenWhatWasTooNarrow) {
  const auto at = [](std::int64_t second) { return Instant::at(Duration::seconds(second)); };
  ForecastErrors errors;
  const Band raw = {at(900), at(1'000), at(1'100)};
  Random random(1);
  int inside = 0;
  for (int i = 0; i < 1'000; ++i) {
    const Band told = errors.corrected(Instant(), raw);
    const auto real = at(static_cast<std::int64_t>(1'000 * portable_exp(0.7 * random.normal())));
    if (i >= 500 && told.soonest <= real && real <= told.latest) ++inside;
    errors.learn(Instant(), raw, told, real);
  }
  EXPECT_NEAR(inside / 500.0, 0.8, 0.05);
  const Band told = errors.corrected(Instant(), raw);
  EXPECT_NEAR(told.likely.in_seconds(), 1'000, 120);
}

TEST(RuntimeSampler, GoByTheNearestKinThatTookLonger) {
  RuntimeSampler guesses;
  JobSpec mine;
  mine.user = UserId(1);
  JobSpec other;
  other.user = UserId(2);
  for (int i = 1; i <= 4; ++i) {
    guesses.learn(mine, Duration::seconds(100 * i));
    guesses.learn(other, Duration::seconds(10'000));
  }
  Random random(1);
  double sum = 0;
  for (int i = 0; i < 400; ++i) {
    const Duration left = guesses.left(mine, Duration::seconds(150), random);
    EXPECT_GT(left, Duration());
    EXPECT_LE(left, Duration::seconds(250));
    sum += left.in_seconds();
  }
  EXPECT_NEAR(sum / 400, 150, 15);  // 50, 150 or 250.
  // It has run longer than all jobs of its own group: samples come from jobs of its size.
  EXPECT_EQ(guesses.left(mine, Duration::seconds(500), random), Duration::seconds(9'500));
  // It has run longer than all jobs: about as long again.
  EXPECT_GT(guesses.left(mine, Duration::seconds(20'000), random), Duration());
  // For an unknown user, the user's estimate counts.
  JobSpec external_job;
  external_job.user = UserId(3);
  external_job.estimate = Duration::seconds(60);
  EXPECT_LT(guesses.left(external_job, Duration(), random), Duration::seconds(1'000));
}

TEST(RuntimeSampler, HaveAMiddleThatIsTheSameWheneverAsked) {
  RuntimeSampler guesses;
  JobSpec mine;
  mine.user = UserId(1);
  mine.estimate = Duration::seconds(40 * 60);
  EXPECT_EQ(guesses.likely(mine, Duration::seconds(600)), Duration::seconds(1'800));
  for (int i = 1; i <= 5; ++i) guesses.learn(mine, Duration::seconds(100 * i));
  EXPECT_EQ(guesses.likely(mine, Duration()), Duration::seconds(300));
  EXPECT_EQ(guesses.likely(mine, Duration::seconds(250)), Duration::seconds(150));
  JobSpec unknown;
  unknown.user = UserId(9);
  const Duration long_ago = Duration::seconds(10'000);
  EXPECT_NEAR(guesses.likely(unknown, long_ago).in_seconds(), 6'931, 1);
}

// Eight jobs in the first two seconds of a manager do not predict thousands of arrivals.
TEST(RuntimeSampler, DoNotTakeABurstForAHabit) {
  RuntimeSampler guesses;
  JobSpec spec;
  for (int i = 0; i < 8; ++i)
    guesses.record_arrival(Instant::at(Duration::micros(250'000 * i)), spec);
  Random random(1);
  const Instant now = Instant::at(Duration::seconds(3));
  const auto all = guesses.arrivals(now, now + Duration::seconds(60 * 86'400), random);
  EXPECT_GT(all.size(), 0U);
  EXPECT_LT(all.size(), 80U);
  EXPECT_LT(all.back().at - now, Duration::seconds(86'400));
}

TEST(RuntimeSampler, ImagineNewcomersAsOftenAsTheyCame) {
  RuntimeSampler guesses;
  JobSpec spec;
  for (int i = 0; i < 200; ++i)
    guesses.record_arrival(Instant::at(Duration::seconds(60 * i)), spec);
  Random random(1);
  const Instant now = Instant::at(Duration::seconds(12'000));
  const auto all = guesses.arrivals(now, now + Duration::seconds(60'000), random);
  EXPECT_NEAR(static_cast<double>(all.size()), 1'000, 120);
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_LE(all[i - 1].at, all[i].at);
  EXPECT_GT(all.front().at, now);
}

}  // namespace
}  // namespace muster
