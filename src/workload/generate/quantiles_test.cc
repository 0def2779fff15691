#include "workload/generate/quantiles.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/types/random.h"

namespace muster {
namespace {

QuantileCurve curve() {
  const double levels[] = {0, 0.5, 0.9, 1};
  const double values[] = {1, 100, 100, 10'000};
  return {levels, values};
}

TEST(QuantileCurve, IsLinearInLogarithms) {
  EXPECT_NEAR(curve().at(0), 1, 1e-9);
  EXPECT_NEAR(curve().at(0.25), 10, 1e-9);
  EXPECT_NEAR(curve().at(0.5), 100, 1e-9);
  EXPECT_NEAR(curve().at(0.7), 100, 1e-9);
  EXPECT_NEAR(curve().at(0.95), 1000, 1e-9);
  EXPECT_NEAR(curve().at(1), 10'000, 1e-7);
}

TEST(QuantileCurve, KnowsItsMean) {
  Random random(1);
  double sum = 0;
  for (int i = 0; i < 100'000; ++i) sum += curve().at(random.uniform());
  EXPECT_NEAR(curve().mean(), sum / 100'000, 0.02 * curve().mean());
}

TEST(Reflect, KeepsUniformLevelsUniform) {
  EXPECT_NEAR(reflect(-0.2), 0.2, 1e-12);
  EXPECT_NEAR(reflect(0.4), 0.4, 1e-12);
  EXPECT_NEAR(reflect(1.1), 0.9, 1e-12);
  Random random(2);
  int tenths[10] = {};
  for (int i = 0; i < 100'000; ++i) {
    const double level = reflect(random.uniform() + random.uniform(-0.3, 0.3));
    ASSERT_TRUE(level >= 0 && level <= 1);
    ++tenths[std::min(9, static_cast<int>(10 * level))];
  }
  for (const int count : tenths) EXPECT_NEAR(count, 10'000, 400);
}

}  // namespace
}  // namespace muster
