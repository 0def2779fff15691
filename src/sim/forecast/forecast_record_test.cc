// Corrected bounds hold as many starts as they claim, also with late feedback and after a change.

#include "sim/forecast/forecast_record.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/types/random.h"

namespace muster {
namespace {

Instant instant(double second) { return Instant::micros(static_cast<std::int64_t>(second * 1e6)); }

StartSamples around(Instant asked, double seconds, double sigma, Random& random) {
  StartSamples samples;
  for (int i = 0; i < 9; ++i) {
    const double wait = seconds * portable_exp(sigma * random.normal());
    samples.push_back(asked + Duration::micros(static_cast<std::int64_t>(wait * 1e6)));
  }
  std::sort(samples.begin(), samples.end());
  return samples;
}

TEST(ForecastRecord, WidensWhatWasTooNarrow) {
  ForecastRecord record;
  Random random(1);
  int inside = 0;
  for (int i = 0; i < 1'000; ++i) {
    const Instant asked = instant(i * 10'000.0);
    const auto job = static_cast<std::uint64_t>(i);
    const ForecastBounds told = record.add(job, asked, around(asked, 1'000, 0.1, random));
    const Instant real = around(asked, 1'000, 0.7, random)[4];
    if (i >= 300 && told[1] <= real && real <= told[5]) ++inside;
    EXPECT_TRUE(record.resolve(job, real));
  }
  EXPECT_NEAR(inside / 700.0, 0.8, 0.03);
  EXPECT_EQ(record.known(), 1'000U);
}

// Each job starts after 300 later ones have asked. Without beliefs about waiting jobs the record
// would learn of the change only then.
TEST(ForecastRecord, RecoversAfterAShiftAlthoughJobsStartLate) {
  ForecastRecord record;
  Random random(2);
  constexpr int kLater = 300;
  std::map<int, Instant> starts;
  std::map<int, ForecastBounds> told;
  int inside = 0;
  for (int i = 0; i < 2'000; ++i) {
    const Instant now = instant(i * 10.0);
    const double factor = i < 1'000 ? 1 : 2;
    told[i] = record.add(static_cast<std::uint64_t>(i), now, around(now, 3'000, 0.1, random));
    starts[i] = around(now, 3'000 * factor, 0.05, random)[4];
    if (i % 20 == 0) {
      for (int k = std::max(0, i - kLater); k < i; ++k) {
        const auto job = static_cast<std::uint64_t>(k);
        if (record.has(job)) record.refresh(job, now, StartSamples(9, starts[k]));
      }
    }
    const int done = i - kLater;
    if (done < 0) continue;
    record.resolve(static_cast<std::uint64_t>(done), starts[done]);
  }
  for (int i = 0; i < 2'000; ++i) inside += told[i][1] <= starts[i] && starts[i] <= told[i][5];
  EXPECT_NEAR(inside / 2'000.0, 0.8, 0.05);
}

// Many starts at exactly the same time are inside a band that ends there.
TEST(ForecastRecord, CountsTheEndsOfABandAsInside) {
  ForecastRecord record;
  Random random(3);
  int inside = 0;
  for (int i = 0; i < 1'000; ++i) {
    const Instant asked = instant(i * 1'000.0);
    const Instant tick = asked + Duration::seconds(300);
    const ForecastBounds told =
        record.add(static_cast<std::uint64_t>(i), asked, StartSamples(9, tick));
    const Instant real = random.uniform() < 0.7 ? tick : tick + Duration::seconds(300);
    if (i >= 300 && told[1] <= real && real <= told[5]) ++inside;
    record.resolve(static_cast<std::uint64_t>(i), real);
  }
  EXPECT_NEAR(inside / 700.0, 0.8, 0.04);
}

TEST(ForecastRecord, ForgetsJobsThatAreCancelled) {
  ForecastRecord record;
  record.add(7, instant(0), StartSamples(9, instant(100)));
  EXPECT_TRUE(record.has(7));
  record.drop(7);
  EXPECT_FALSE(record.has(7));
  EXPECT_FALSE(record.resolve(7, instant(50)));
  EXPECT_TRUE(record.pending().empty());
}

// Samples at 1/factor, 1 and `factor` times the wait, for the levels below, at and above the
// median.
StartSamples symmetric(double seconds, double factor) {
  StartSamples samples;
  for (int i = -4; i <= 4; ++i) {
    samples.push_back(instant(i < 0 ? seconds / factor : i > 0 ? seconds * factor : seconds));
  }
  return samples;
}

TEST(ForecastRecord, UsesHalfOfTheSpreadOfLongWaits) {
  ForecastRecord record;
  // How much more the end of the band is with samples that spread twice as much.
  const auto growth = [&](double seconds) {
    const double narrow = record.corrected(instant(0), symmetric(seconds, 2))[5].in_seconds();
    const double wide = record.corrected(instant(0), symmetric(seconds, 4))[5].in_seconds();
    return wide / narrow;
  };
  EXPECT_NEAR(growth(100'000), std::sqrt(2.0), 0.01);
  EXPECT_GT(growth(200), 1.7) << "short waits end at ticks";
}

TEST(ForecastRecord, AStartThatSomeSimulationsLackStaysUnknown) {
  ForecastRecord record;
  StartSamples samples(8, instant(100'000));
  samples.push_back(Instant::never());
  const ForecastBounds told = record.add(1, instant(0), samples);
  EXPECT_NE(told[3], Instant::never());
  EXPECT_EQ(told[5], Instant::never());
}

TEST(ForecastRecord, HasNoStartWhereTheSimulationsHaveNone) {
  ForecastRecord record;
  const ForecastBounds told = record.add(1, instant(0), StartSamples(9, Instant::never()));
  EXPECT_EQ(told[3], Instant::never());
  EXPECT_EQ(told[5], Instant::never());
}

}  // namespace
}  // namespace muster
