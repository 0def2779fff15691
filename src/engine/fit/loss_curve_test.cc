#include "engine/fit/loss_curve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/types/random.h"

namespace muster {
namespace {

LossCurve plant(double b0, double b1, double b2) { return {b0, b1, b2, 0, 0}; }

// Losses at epochs first, first + 1, ..., several measurements each, with multiplicative noise.
std::vector<LossPoint> losses(const LossCurve& curve, int first, int epochs, int each = 1,
                              double noise = 0, std::uint64_t seed = 0) {
  Random random(seed);
  std::vector<LossPoint> points;
  for (int epoch = first; epoch < first + epochs; ++epoch) {
    for (int i = 0; i < each; ++i) {
      points.push_back(
          {static_cast<double>(epoch), curve.at(epoch) * (1 + noise * random.normal())});
    }
  }
  return points;
}

double off(double got, double planted) { return std::fabs(got - planted) / planted; }

double worst_forecast(const LossCurve& got, const LossCurve& planted, int from, int to) {
  double worst = 0;
  for (int epoch = from; epoch < to; ++epoch) {
    worst = std::max(worst, off(got.at(epoch), planted.at(epoch)));
  }
  return worst;
}

// Curves whose three numbers show within 100 epochs: the loss falls by more than half, and both the
// fall and what remains are seen.
const std::vector<LossCurve>& clear_plants() {
  static const std::vector<LossCurve> kPlants = {plant(0.2, 0.5, 0.3), plant(0.05, 0.2, 0.5),
                                                 plant(0.1, 0.1, 0.5), plant(0.3, 0.2, 0.5),
                                                 plant(0.02, 0.02, 2)};
  return kPlants;
}

TEST(LossCurve, ExactPointsGiveThePlantBack) {
  std::vector<LossCurve> plants = clear_plants();
  plants.push_back(plant(1e-7, 1e-5, 5000));  // Hardly falls by half, and in other units.
  plants.push_back(plant(50, 10, 0.001));
  for (const LossCurve& planted : plants) {
    for (const int first : {0, 1, 7}) {
      for (const int epochs : {3, 4, 5, 60, 100}) {
        SCOPED_TRACE(testing::Message() << planted.b0 << ' ' << planted.b1 << ' ' << planted.b2
                                        << " from " << first << ", " << epochs << " epochs");
        const Result<LossCurve> curve = fit_loss_curve(losses(planted, first, epochs));
        ASSERT_TRUE(curve.ok()) << curve.error().message;
        EXPECT_LT(off(curve.value().b0, planted.b0), 1e-6);
        EXPECT_LT(off(curve.value().b1, planted.b1), 1e-6);
        EXPECT_LT(off(curve.value().b2, planted.b2), 1e-6);
        EXPECT_EQ(curve.value().largest, planted.at(first));
        EXPECT_LT(curve.value().residual, 1e-9 * planted.at(first));
      }
    }
  }
}

TEST(LossCurve, PlantsOnTheBoundsAreFound) {
  const Result<LossCurve> no_floor = fit_loss_curve(losses(plant(0.1, 0.3, 0), 0, 60));
  ASSERT_TRUE(no_floor.ok());
  EXPECT_LT(off(no_floor.value().b0, 0.1), 1e-6);
  EXPECT_LT(off(no_floor.value().b1, 0.3), 1e-6);
  EXPECT_LT(no_floor.value().b2, 1e-12);
  const Result<LossCurve> no_offset = fit_loss_curve(losses(plant(0.05, 0, 0.3), 1, 60));
  ASSERT_TRUE(no_offset.ok());
  EXPECT_LT(off(no_offset.value().b0, 0.05), 1e-6);
  EXPECT_LT(no_offset.value().b1, 1e-12);
  EXPECT_LT(off(no_offset.value().b2, 0.3), 1e-6);
}

// One loss an epoch with 5% noise, 100 epochs. The forecast from epoch 10 on, three times as far as
// was seen, and the floor b2 are always within 10%. The other two depend on a few early points,
// each 5% off: even the best estimator there is has a standard deviation of 2 to 5% for b0 and b1,
// and this one, which counts late points most, 4 to 8%. So they are within 10% mostly.
TEST(LossCurve, NoiseLeavesTheForecastRight) {
  for (const LossCurve& planted : clear_plants()) {
    constexpr int kSeeds = 100;
    int near_b0 = 0;
    int near_b1 = 0;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      SCOPED_TRACE(testing::Message() << "plant " << planted.b0 << ", seed " << seed);
      const Result<LossCurve> curve = fit_loss_curve(losses(planted, 0, 100, 1, 0.05, seed));
      ASSERT_TRUE(curve.ok()) << curve.error().message;
      EXPECT_LT(worst_forecast(curve.value(), planted, 10, 300), 0.10);
      EXPECT_LT(off(curve.value().b2, planted.b2), 0.10);
      near_b0 += off(curve.value().b0, planted.b0) < 0.10 ? 1 : 0;
      near_b1 += off(curve.value().b1, planted.b1) < 0.10 ? 1 : 0;
    }
    EXPECT_GT(near_b0, kSeeds * 7 / 10) << planted.b0;
    EXPECT_GT(near_b1, kSeeds * 9 / 10) << planted.b0;
  }
}

// With ten losses an epoch all three numbers are always within 10%, and every forecast too.
TEST(LossCurve, NoiseLeavesTheParametersRight) {
  for (const LossCurve& planted : clear_plants()) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      SCOPED_TRACE(testing::Message() << "plant " << planted.b0 << ", seed " << seed);
      const Result<LossCurve> curve = fit_loss_curve(losses(planted, 0, 100, 10, 0.05, seed));
      ASSERT_TRUE(curve.ok()) << curve.error().message;
      EXPECT_LT(off(curve.value().b0, planted.b0), 0.10);
      EXPECT_LT(off(curve.value().b1, planted.b1), 0.10);
      EXPECT_LT(off(curve.value().b2, planted.b2), 0.10);
      EXPECT_LT(worst_forecast(curve.value(), planted, 0, 300), 0.10);
    }
  }
}

// The fit is the least there is, with the last third counting most: no neighbor has a smaller
// error by the weights of Optimus.
TEST(LossCurve, IsTheBestOfItsNeighbours) {
  int on_the_bound = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "reproduce with seed " << seed);
    const LossCurve planted = plant(0.05, 0.2, seed % 2 == 0 ? 0.2 : 0);
    const std::vector<LossPoint> points = losses(planted, 1, 30, 1, 0.1, seed);
    const auto square = [&](double b0, double b1, double b2) {
      double sum = 0;
      for (std::size_t i = 0; i < points.size(); ++i) {
        const double weight = i < 10 ? 1 : i < 20 ? 16 : 256;  // sigma = 4^-segment, squared.
        const double error = points[i].loss - plant(b0, b1, b2).at(points[i].epoch);
        sum += weight * error * error;
      }
      return sum;
    };
    const Result<LossCurve> fitted = fit_loss_curve(points);
    ASSERT_TRUE(fitted.ok());
    const LossCurve& curve = fitted.value();
    ASSERT_GE(curve.b2, 0);
    on_the_bound += curve.b2 == 0 ? 1 : 0;
    const double best = square(curve.b0, curve.b1, curve.b2);
    EXPECT_NEAR(std::sqrt(best / 2730), curve.residual, 1e-9);
    Random random(seed);
    for (int i = 0; i < 2000; ++i) {
      const double step = i % 2 == 0 ? 0.5 : 0.01;
      const double b0 = curve.b0 * (1 + random.uniform(-step, step));
      const double b1 = curve.b1 * (1 + random.uniform(-step, step));
      const double b2 = std::max(0.0, curve.b2 + 0.2 * random.uniform(-step, step));
      ASSERT_GE(square(b0, b1, b2), best * (1 - 1e-12));
    }
  }
  EXPECT_GT(on_the_bound, 2);
}

std::vector<LossPoint> follow(int epochs, double start, double slope) {
  std::vector<LossPoint> points;
  for (int i = 0; i < epochs; ++i) points.push_back({static_cast<double>(i), start + slope * i});
  return points;
}

TEST(LossCurve, WhatDoesNotFallIsRefused) {
  for (const int epochs : {3, 10, 100}) {
    EXPECT_FALSE(fit_loss_curve(follow(epochs, 2, 0)).ok());
    EXPECT_FALSE(fit_loss_curve(follow(epochs, 2, 0.1)).ok());
    EXPECT_FALSE(fit_loss_curve(follow(epochs, 2, -1e-9)).ok());
    EXPECT_FALSE(fit_loss_curve(follow(epochs, 0, 0)).ok());
    EXPECT_TRUE(fit_loss_curve(follow(epochs, 20, -0.1)).ok());  // Not a curve, but it falls.
  }
  std::vector<LossPoint> diverges = losses(plant(0.2, 0.5, 0.3), 0, 30);
  for (int i = 30; i < 90; ++i) diverges.push_back({static_cast<double>(i), 0.1 * (i - 25)});
  EXPECT_FALSE(fit_loss_curve(diverges).ok());
}

TEST(LossCurve, NoiseAloneIsRefused) {
  int estimated = 0;
  int missed = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    for (const int epochs : {10, 50}) {
      std::vector<LossPoint> flat = losses(plant(0.1, 0.5, 0.3), 0, epochs, 1, 0.05, seed);
      missed += fit_loss_curve(flat).ok() ? 0 : 1;
      Random random(seed);
      for (LossPoint& point : flat) point.loss = 2 + 0.1 * random.normal();
      estimated += fit_loss_curve(flat).ok() ? 1 : 0;
    }
  }
  EXPECT_LE(estimated, 8);  // 2% of 400; half of them would have some slope.
  EXPECT_EQ(missed, 0);
}

TEST(LossCurve, BadPointsAreRefused) {
  const std::vector<LossPoint> good = losses(plant(0.2, 0.5, 0.3), 0, 10);
  ASSERT_TRUE(fit_loss_curve(good).ok());
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (const double bad : {kNan, kInf, -kInf, -1.0}) {
    std::vector<LossPoint> points = good;
    points[4].loss = bad;
    EXPECT_FALSE(fit_loss_curve(points).ok()) << bad;
    points = good;
    points[4].epoch = bad;
    EXPECT_FALSE(fit_loss_curve(points).ok()) << bad;
  }
  std::vector<LossPoint> swapped = good;
  std::swap(swapped[2], swapped[3]);
  EXPECT_FALSE(fit_loss_curve(swapped).ok());
  EXPECT_FALSE(fit_loss_curve({}).ok());
  EXPECT_FALSE(fit_loss_curve(std::vector<LossPoint>(good.begin(), good.begin() + 2)).ok());
  EXPECT_FALSE(fit_loss_curve(losses(plant(0.2, 0.5, 0.3), 0, 2, 5)).ok());  // Two epochs.
  std::vector<LossPoint> tiny = good;
  for (LossPoint& point : tiny) point.loss *= 1e-310;
  EXPECT_FALSE(fit_loss_curve(tiny).ok());
}

TEST(RemainingEpochs, AreThoseUntilTheLossHardlyFalls) {
  // at(e) = 5 / (e + 5), so at(e - 10) - at(e) = 50 / (e * e - 25): below 0.05 from e = 33 on.
  const LossCurve curve = {0.2, 1, 0, /*largest=*/1, 0};
  EXPECT_EQ(remaining_epochs(curve, 0), 33);
  EXPECT_EQ(remaining_epochs(curve, 15.5), 17.5);
  EXPECT_EQ(remaining_epochs(curve, 33), 0);
  EXPECT_EQ(remaining_epochs(curve, 250), 0);
  // The threshold is a part of the largest loss: below 0.1 from e = 23 on.
  EXPECT_EQ(remaining_epochs(LossCurve{0.2, 1, 0, /*largest=*/2, 0}, 3), 20);
  // The same losses in other units, and a floor under them.
  EXPECT_EQ(remaining_epochs(LossCurve{0.002, 0.01, 700, /*largest=*/100, 0}, 0), 33);
  // At least ten epochs must have passed.
  EXPECT_EQ(remaining_epochs(LossCurve{1, 100, 0, /*largest=*/1, 0}, 4), 6);
  // No offset: the loss at epoch 0 is infinite, the fall from there too. 20 / (e * (e - 10)).
  EXPECT_EQ(remaining_epochs(LossCurve{0.5, 0, 0, /*largest=*/1, 0}, 0), 26);
}

TEST(RemainingEpochs, FollowTheRule) {
  const LossCurve curve = {0.2, 1, 0, /*largest=*/1, 0};
  ConvergenceRule rule;
  rule.window = 4;  // The fall is 20 / ((e + 1) * (e + 5)).
  EXPECT_EQ(remaining_epochs(curve, 0, rule), 18);
  rule.threshold = 0.001;
  EXPECT_EQ(remaining_epochs(curve, 30, rule), 70);  // The cap.
  EXPECT_EQ(remaining_epochs(curve, 99.5, rule), 0.5);
  EXPECT_EQ(remaining_epochs(curve, 100, rule), 20);  // It should have ended: unknown.
  EXPECT_EQ(remaining_epochs(curve, 180, rule), 20);
  rule.cap = 50;
  EXPECT_EQ(remaining_epochs(curve, 30, rule), 20);
  rule = {.cap = 33};
  EXPECT_EQ(remaining_epochs(curve, 40, rule), 0);  // Converged just at the cap.
  rule = {.cap = 32, .unknown = 7};
  EXPECT_EQ(remaining_epochs(curve, 40, rule), 7);
}

TEST(RemainingEpochs, AgreeWithLookingAtEveryEpoch) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Random random(seed);
    const LossCurve curve = {random.uniform(0.001, 1), random.below(4) == 0 ? 0 : random.uniform(),
                             random.uniform(), random.uniform(0.1, 5), 0};
    ConvergenceRule rule;
    rule.window = 1 + static_cast<int>(random.below(20));
    rule.cap = static_cast<int>(random.below(150));
    int end = rule.window;
    while (end <= rule.cap &&
           !(curve.at(end - rule.window) - curve.at(end) < rule.threshold * curve.largest)) {
      ++end;
    }
    ASSERT_EQ(remaining_epochs(curve, 0, rule), end <= rule.cap ? end
                                                : rule.cap > 0  ? rule.cap
                                                                : rule.unknown)
        << "reproduce with seed " << seed;
  }
}

TEST(RemainingEpochs, AreTwentyWhereNothingIsKnown) {
  const Result<LossCurve> rising = fit_loss_curve(follow(30, 1, 0.1));
  EXPECT_EQ(remaining_epochs(rising, 30), 20);
  EXPECT_EQ(remaining_epochs(rising, 500), 20);
  EXPECT_EQ(remaining_epochs(fit_loss_curve({}), 0), 20);
}

}  // namespace
}  // namespace muster
