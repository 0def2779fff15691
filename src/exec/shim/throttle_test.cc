#include "exec/shim/throttle.h"

#include <gtest/gtest.h>

#include <cmath>

namespace muster {
namespace {

// A job that uses `busy` CPUs while it runs, accounted in ticks of 10 ms like in the kernel.
struct Job {
  double busy;
  double used_s = 0;
  std::int64_t now_us = 0;
  double paused_us = 0;

  void run(Throttle& throttle, std::int64_t until_us) {
    while (now_us < until_us) {
      const auto step = throttle.step(now_us, std::floor(used_s * 100) / 100);
      ASSERT_GT(step.next_us, now_us);
      const auto span = static_cast<double>(step.next_us - now_us);
      if (step.run) used_s += busy * span * 1e-6;
      if (!step.run) paused_us += span;
      now_us = step.next_us;
    }
  }
};

TEST(Throttle, HoldsAnyBusyJobToItsRate) {
  for (const double busy : {1.0, 4.0, 32.0}) {
    for (const std::int64_t milli : {50, 250, 900}) {
      Throttle throttle(milli);
      Job job{busy};
      job.run(throttle, 20'000'000);
      const double rate = job.used_s / 20 * 1000;
      EXPECT_NEAR(rate, static_cast<double>(milli), 0.12 * static_cast<double>(milli))
          << busy << " CPUs held to " << milli;
    }
  }
}

TEST(Throttle, NeverPausesAJobWithinItsRate) {
  Throttle throttle(1000);
  Job job{0.8};
  job.run(throttle, 5'000'000);
  EXPECT_LT(job.paused_us, 50'000);  // The initial estimate assumes a busy job.
}

TEST(Throttle, FollowsANewRateWithinASecond) {
  Throttle throttle(1000);
  Job job{1.0};
  job.run(throttle, 5'000'000);
  throttle.set_rate(200);
  job.run(throttle, 6'000'000);
  const double before = job.used_s;
  job.run(throttle, 16'000'000);
  EXPECT_NEAR((job.used_s - before) / 10, 0.2, 0.03);
}

}  // namespace
}  // namespace muster
