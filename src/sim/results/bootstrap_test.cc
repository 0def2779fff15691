#include "sim/results/bootstrap.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/types/random.h"

namespace muster {
namespace {

TEST(Bootstrap, OneValueIsItsOwnInterval) {
  const std::vector<double> one = {7};
  const Interval interval = bootstrap_mean(one);
  EXPECT_EQ(interval.mean, 7);
  EXPECT_EQ(interval.low, 7);
  EXPECT_EQ(interval.high, 7);
}

TEST(Bootstrap, RepeatsItself) {
  const std::vector<double> values = {1, 5, 2, 8};
  EXPECT_EQ(bootstrap_mean(values).low, bootstrap_mean(values).low);
  EXPECT_EQ(bootstrap_mean(values).mean, 4);
  EXPECT_LE(bootstrap_mean(values).low, 4);
  EXPECT_GE(bootstrap_mean(values).high, 4);
}

// About 95% of the intervals should cover the true mean; for 20 values a little less, as is known
// for the percentile bootstrap.
TEST(Bootstrap, CoversTheMeanAboutAsOftenAsItSays) {
  Random random(5);
  int covered = 0;
  for (int trial = 0; trial < 400; ++trial) {
    std::vector<double> values(20);
    for (double& value : values) value = 10 + random.normal();
    const Interval interval = bootstrap_mean(values, static_cast<std::uint64_t>(trial));
    covered += interval.low <= 10 && interval.high >= 10 ? 1 : 0;
  }
  EXPECT_GT(covered, 355);
  EXPECT_LT(covered, 395);
}

}  // namespace
}  // namespace muster
