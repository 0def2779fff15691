#include "engine/fit/speed_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/types/random.h"

namespace muster {
namespace {

double speed_error(double got, double planted) { return std::fabs(got - planted) / planted; }

struct Plant {
  SpeedModel model;
  double batch;

  double speed(int ps, int workers) const { return model.speed(ps, workers, batch); }
  SpeedPoint measure(int ps, int workers, double noise, Random& random) const {
    return {ps, workers, batch, speed(ps, workers) * (1 + noise * random.normal())};
  }
};

const Plant kSync = {{Training::kSync, {0.02, 2, 1, 0.1, 0.2}, 0}, 64};
const Plant kAsync = {{Training::kAsync, {2, 1.5, 0.2, 0.3, 0}, 0}, 1};
// Nothing for each worker: on the bound.
const Plant kBoundSync = {{Training::kSync, {1.02, 2.78, 4.92, 0, 0.02}, 0}, 1};
const Plant kBoundAsync = {{Training::kAsync, {2.83, 3.92, 0, 0.11, 0}, 0}, 1};

// All settings of 1 to 10 parameter servers and workers, each measured `each` times.
std::vector<SpeedPoint> grid(const Plant& plant, int each, double noise, std::uint64_t seed) {
  Random random(seed);
  std::vector<SpeedPoint> points;
  for (int ps = 1; ps <= 10; ++ps) {
    for (int workers = 1; workers <= 10; ++workers) {
      for (int i = 0; i < each; ++i) points.push_back(plant.measure(ps, workers, noise, random));
    }
  }
  return points;
}

double worst_speed_forecast(const SpeedModel& got, const Plant& plant) {
  double worst = 0;
  for (int ps = 1; ps <= 10; ++ps) {
    for (int workers = 1; workers <= 10; ++workers) {
      worst = std::max(worst,
                       speed_error(got.speed(ps, workers, plant.batch), plant.speed(ps, workers)));
    }
  }
  return worst;
}

TEST(SpeedFit, SpeedIsTheFormula) {
  // Five terms of 0.02 * 64 / 4 + 2 + 1 * 4 / 2 + 0.1 * 4 + 0.2 * 2, four of 2 + 3 + 0.8 + 0.6.
  EXPECT_NEAR(kSync.speed(2, 4), 1 / 5.12, 1e-12);
  EXPECT_NEAR(kAsync.speed(2, 4), 4 / 6.4, 1e-12);
}

TEST(SpeedFit, ExactPointsGiveThePlantBack) {
  for (const Plant& plant : {kSync, kAsync, kBoundSync, kBoundAsync}) {
    const Result<SpeedModel> fitted = fit_speed(plant.model.training, grid(plant, 1, 0, 0));
    ASSERT_TRUE(fitted.ok());
    for (std::size_t i = 0; i < 5; ++i) {
      const double planted = plant.model.theta[i];
      EXPECT_NEAR(fitted.value().theta[i], planted, 1e-6 * planted) << i;
    }
    EXPECT_LT(worst_speed_forecast(fitted.value(), plant), 1e-6);
    EXPECT_LT(fitted.value().residual, 1e-9);
  }
}

TEST(SpeedFit, TheFewestPointsAreEnough) {
  Random random(0);
  std::vector<SpeedPoint> points;
  for (const auto& [ps, workers] : {std::pair(1, 1), {1, 6}, {4, 2}, {7, 3}}) {
    points.push_back(kAsync.measure(ps, workers, 0, random));
    points.push_back(points.back());  // Twice the same tells no more.
  }
  const Result<SpeedModel> async = fit_speed(Training::kAsync, points);
  ASSERT_TRUE(async.ok());
  EXPECT_LT(worst_speed_forecast(async.value(), kAsync), 1e-6);
  EXPECT_FALSE(fit_speed(Training::kSync, points).ok());
  EXPECT_FALSE(fit_speed(Training::kAsync, std::span(points).first(6)).ok());

  points.clear();
  for (const auto& [ps, workers] : {std::pair(1, 1), {1, 6}, {4, 2}, {7, 3}, {9, 8}}) {
    points.push_back(kSync.measure(ps, workers, 0, random));
  }
  const Result<SpeedModel> sync = fit_speed(Training::kSync, points);
  ASSERT_TRUE(sync.ok());
  EXPECT_LT(worst_speed_forecast(sync.value(), kSync), 1e-6);
}

// One measurement with 5% noise at each of 100 settings: the speed anywhere among them is within
// 10%. A term that is a small part of the time is not known so well; with 20 measurements each,
// every term of these plants is within 10%.
TEST(SpeedFit, NoiseLeavesSpeedsRightAndManyPointsTheTerms) {
  for (const Plant& plant : {kSync, kAsync, kBoundSync, kBoundAsync}) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      const Result<SpeedModel> fitted = fit_speed(plant.model.training, grid(plant, 1, 0.05, seed));
      ASSERT_TRUE(fitted.ok());
      EXPECT_LT(worst_speed_forecast(fitted.value(), plant), 0.10) << "seed " << seed;
    }
  }
  for (const Plant& plant : {kSync, kAsync}) {
    const std::size_t terms = plant.model.training == Training::kSync ? 5 : 4;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const Result<SpeedModel> fitted =
          fit_speed(plant.model.training, grid(plant, 20, 0.05, seed));
      ASSERT_TRUE(fitted.ok());
      EXPECT_LT(worst_speed_forecast(fitted.value(), plant), 0.02) << "seed " << seed;
      for (std::size_t i = 0; i < terms; ++i) {
        EXPECT_LT(speed_error(fitted.value().theta[i], plant.model.theta[i]), 0.10)
            << i << ", " << seed;
      }
    }
  }
}

// Relative errors count: a setting a thousand times slower than the rest is met as well.
TEST(SpeedFit, SlowAndFastSettingsCountAlike) {
  const Plant steep = {{Training::kSync, {1, 0.001, 0, 0, 0}, 0}, 1000};
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    std::vector<SpeedPoint> points;
    for (const int workers : {1, 2, 3, 10'000'000, 20'000'000, 30'000'000}) {
      for (int i = 0; i < 20; ++i) points.push_back(steep.measure(1, workers, 0.05, random));
    }
    const Result<SpeedModel> fitted = fit_speed(Training::kSync, points);
    ASSERT_TRUE(fitted.ok());
    EXPECT_LT(speed_error(fitted.value().speed(1, 2, 1000), steep.speed(1, 2)), 0.1);
    EXPECT_LT(speed_error(fitted.value().speed(1, 20'000'000, 1000), steep.speed(1, 20'000'000)),
              0.1);
  }
}

// Data-parallel jobs have p = w, where the terms 1 and w / p are the same, and w and p as well.
TEST(SpeedFit, AsManyParameterServersAsWorkersIsEnoughForTheirSpeeds) {
  for (const Plant& plant : {kSync, kAsync, kBoundSync, kBoundAsync}) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      SCOPED_TRACE(testing::Message() << "reproduce with seed " << seed);
      Random random(seed);
      std::vector<SpeedPoint> exact;
      std::vector<SpeedPoint> noisy;
      for (int n = 1; n <= 8; ++n) {
        exact.push_back(plant.measure(n, n, 0, random));
        for (int i = 0; i < 4; ++i) noisy.push_back(plant.measure(n, n, 0.05, random));
      }
      const Result<SpeedModel> clear = fit_speed(plant.model.training, exact);
      const Result<SpeedModel> rough = fit_speed(plant.model.training, noisy);
      ASSERT_TRUE(clear.ok() && rough.ok());
      for (int n = 1; n <= 16; ++n) {
        EXPECT_LT(speed_error(clear.value().speed(n, n, plant.batch), plant.speed(n, n)), 1e-6)
            << n;
        if (n > 10) continue;
        EXPECT_LT(speed_error(rough.value().speed(n, n, plant.batch), plant.speed(n, n)), 0.10)
            << n;
      }
    }
  }
}

TEST(SpeedFit, BadPointsAreRefused) {
  const std::vector<SpeedPoint> good = grid(kSync, 1, 0, 0);
  ASSERT_TRUE(fit_speed(Training::kSync, good).ok());
  const auto refused = [&](const SpeedPoint& bad) {
    std::vector<SpeedPoint> points = good;
    points[3] = bad;
    return !fit_speed(Training::kSync, points).ok();
  };
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(refused({2, 3, 64, 1}));
  EXPECT_TRUE(refused({0, 3, 64, 1}));
  EXPECT_TRUE(refused({2, 0, 64, 1}));
  for (const double bad : {kNan, kInf, -1.0, 0.0}) {
    EXPECT_TRUE(refused({2, 3, 64, bad})) << bad;
    EXPECT_TRUE(refused({2, 3, bad, 1})) << bad;
  }
  EXPECT_TRUE(refused({2, 3, 1e300, 1e300}));
  EXPECT_FALSE(fit_speed(Training::kSync, {}).ok());
}

}  // namespace
}  // namespace muster
