#include "engine/fit/rate_meter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/types/random.h"

namespace muster {
namespace {

Duration ms(std::int64_t count) { return Duration::micros(count * 1000); }

TEST(RateMeter, AnEvenRateIsKnownSoonAndExactly) {
  RateMeter meter;
  meter.begin(ms(0));
  int at = 0;
  for (; at < 20'000; at += 50) {
    meter.take({ms(at), at * 0.1});
    if (meter.known(ms(at))) break;
  }
  EXPECT_LT(at, 5'500);
  ASSERT_TRUE(meter.rate());
  EXPECT_NEAR(meter.rate()->steps_per_second, 100, 1e-6);
  EXPECT_LT(meter.rate()->error, 0.0125) << "the resolution of the time remains";
}

// Under a CPU limit, work is done at the start of each period of 100 ms. Some rates then appear the
// same in all bins, and yet are wrong by several percent.
TEST(RateMeter, TheErrorIncludesThePeriodOfCpuLimits) {
  Random random(5);
  int runs = 0;
  int inside = 0;
  int near = 0;
  for (double truth = 5; truth < 60; truth *= 1.03) {
    for (const int every : {1, 5, 10}) {
      RateMeter meter;
      meter.begin(ms(0));
      const double phase = random.uniform();
      std::int64_t now = 0;
      for (int report = 1; !meter.known(ms(now)) && now < 60'000; ++report) {
        const double done_s = (report * every + phase) / truth;
        now = static_cast<std::int64_t>(std::ceil(done_s * 10)) * 100;
        meter.take({ms(now), static_cast<double>(report * every)});
      }
      const Rate rate = *meter.rate();
      const double error = std::abs(rate.steps_per_second / truth - 1);
      ++runs;
      inside += error <= rate.error ? 1 : 0;
      near += error <= 0.015 ? 1 : 0;
      EXPECT_LT(error, 0.03) << truth << " in steps of " << every;
      EXPECT_LE(now, 12'000);
    }
  }
  EXPECT_GE(inside, runs * 95 / 100);
  EXPECT_GE(near, runs * 97 / 100);
}

// Prefetched data is used first, which looks like a higher speed.
TEST(RateMeter, TheBeginningIsDropped) {
  RateMeter meter;
  meter.begin(ms(0));
  double step = 0;
  for (int at = 0; at <= 8'000; at += 100) {
    step += at < 1'500 ? 50 : 10;
    meter.take({ms(at), step});
  }
  ASSERT_TRUE(meter.rate());
  EXPECT_NEAR(meter.rate()->steps_per_second, 100, 1);
}

TEST(RateMeter, ANoisyRateTakesLongerAndItsErrorIsHonest) {
  Random random(3);
  int inside = 0;
  for (int run = 0; run < 200; ++run) {
    RateMeter meter;
    meter.begin(ms(0));
    double step = 0;
    for (int at = 0; at <= 20'000; at += 100) {
      step += 10 * (0.4 + 1.2 * random.uniform());
      meter.take({ms(at), step});
      if (meter.known(ms(at))) break;
    }
    const Rate rate = *meter.rate();
    inside += std::abs(rate.steps_per_second - 100) <= 100 * rate.error + 0.5 ? 1 : 0;
  }
  EXPECT_GE(inside, 150);  // Stopping when it looks good costs some of the 95 %.
}

TEST(RateMeter, OneThatSaysLittleIsKnownWhenItsTimeIsUp) {
  RateMeter meter;
  meter.begin(ms(0));
  for (int at = 0; at <= 16'000; at += 4'000) meter.take({ms(at), at / 4000.0});
  EXPECT_FALSE(meter.known(ms(9'000)));
  EXPECT_TRUE(meter.known(ms(16'000)));
  EXPECT_NEAR(meter.rate()->steps_per_second, 0.25, 1e-9);
}

TEST(RateMeter, SilenceAndNonsenseAreNoRate) {
  RateMeter meter;
  meter.begin(ms(0));
  EXPECT_FALSE(meter.rate());
  EXPECT_FALSE(meter.known(ms(100'000)));
  meter.take({ms(5'000), std::numeric_limits<double>::quiet_NaN()});
  meter.take({ms(6'000), std::numeric_limits<double>::infinity()});
  EXPECT_FALSE(meter.last_word());
  for (int at = 7'000; at < 9'000; at += 400) meter.take({ms(at), 5});  // It stands still.
  EXPECT_FALSE(meter.rate());
  EXPECT_TRUE(meter.last_word());
}

TEST(RateMeter, ARestartBeginsAnew) {
  RateMeter meter;
  meter.begin(ms(0));
  for (int at = 1'000; at < 5'000; at += 500) meter.take({ms(at), at * 1.0});
  for (int at = 6'000; at < 12'000; at += 500) meter.take({ms(at), (at - 6'000) * 0.1});
  EXPECT_NEAR(meter.rate()->steps_per_second, 100, 1e-6);
}

}  // namespace
}  // namespace muster
