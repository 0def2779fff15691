#include "engine/fit/speed_curve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/types/random.h"

namespace muster {
namespace {

constexpr double kTolerance = 0.05;

// Measures as it says, to its end.
SpeedCurve search(const std::function<double(double)>& truth, std::int64_t full,
                  std::int64_t least = 50) {
  SpeedCurve curve;
  while (const auto cpu = curve.next(full, least, kTolerance)) {
    EXPECT_GE(*cpu, std::min(least, full));
    EXPECT_LE(*cpu, full);
    for (const CurvePoint& point : curve.points()) EXPECT_NE(point.cpu_milli, *cpu);
    curve.add({*cpu, truth(static_cast<double>(*cpu) / 1000), 0.01});
    if (curve.points().size() > 20) break;
  }
  return curve;
}

std::function<double(double)> kneed(double seconds, double most) {
  return [=](double cpus) { return std::min(cpus / seconds, most); };
}

double worst_error(const SpeedCurve& curve, const std::function<double(double)>& truth,
                   std::int64_t from, std::int64_t to) {
  double worst = 0;
  for (std::int64_t cpu = from; cpu <= to; cpu += 10) {
    const double is = truth(static_cast<double>(cpu) / 1000);
    worst = std::max(worst, std::abs(curve.at(cpu) - is) / is);
  }
  return worst;
}

TEST(SpeedCurve, FindsABendInFourOrFivePoints) {
  for (const double knee : {0.3, 0.7, 0.95, 1.3, 1.8}) {
    const auto truth = kneed(0.01, knee / 0.01);
    const SpeedCurve curve = search(truth, 2000);
    EXPECT_LE(curve.points().size(), 5U) << knee;
    EXPECT_LT(worst_error(curve, truth, 300, 2000), 0.03) << knee;
    EXPECT_NEAR(static_cast<double>(curve.need()) / 1000, knee, 0.06 * knee + 0.02) << knee;
  }
}

TEST(SpeedCurve, OneThatNeedsHardlyAnyCpuTakesFewPoints) {
  const SpeedCurve curve = search(kneed(0.001, 20), 2000);
  EXPECT_LE(curve.points().size(), 5U);
  EXPECT_LE(curve.need(), 60);
  EXPECT_TRUE(curve.is_flat());
}

TEST(SpeedCurve, OneThatNeverBendsTakesThree) {
  const auto truth = kneed(0.01, 1e9);
  const SpeedCurve curve = search(truth, 24000);
  EXPECT_LE(curve.points().size(), 3U);
  EXPECT_FALSE(curve.is_flat());
  EXPECT_GE(curve.need(), 23000);
  EXPECT_LT(worst_error(curve, truth, 100, 24000), 0.01);
}

TEST(SpeedCurve, ASoftBendIsFollowed) {
  // Each further CPU brings less: 1 / (s / c + t).
  const auto truth = [](double cpus) { return 1 / (0.02 / cpus + 0.01); };
  const SpeedCurve curve = search(truth, 24000, 1000);
  EXPECT_LE(curve.points().size(), 10U);
  EXPECT_LT(worst_error(curve, truth, 1500, 24000), 0.06);
}

TEST(SpeedCurve, NoiseDoesNotMakeItFallOrRunOn) {
  Random random(7);
  for (int run = 0; run < 300; ++run) {
    const double knee = 0.2 + 2.6 * random.uniform();
    const auto truth = kneed(0.01, knee / 0.01);
    const auto noisy = [&](double cpus) {
      return truth(cpus) * (1 + 0.02 * (2 * random.uniform() - 1));
    };
    const SpeedCurve curve = search(noisy, 3000);
    EXPECT_LE(curve.points().size(), 9U) << knee;
    EXPECT_LT(worst_error(curve, truth, 800, 3000), 0.09) << knee;
    for (std::int64_t cpu = 100; cpu < 3000; cpu += 50) {
      EXPECT_LE(curve.at(cpu), curve.at(cpu + 50) + 1e-9);
    }
  }
}

TEST(SpeedCurve, APointMeasuredAgainIsTheNewOne) {
  SpeedCurve curve;
  curve.add({1000, 5, 0});
  curve.add({1000, 7, 0});
  EXPECT_EQ(curve.points().size(), 1U);
  EXPECT_DOUBLE_EQ(curve.at(1000), 7);
  EXPECT_DOUBLE_EQ(curve.at(500), 3.5);
  EXPECT_DOUBLE_EQ(curve.at(9000), 7);
}

}  // namespace
}  // namespace muster
