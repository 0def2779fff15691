#include "engine/core/rank.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "base/types/random.h"

namespace muster {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

// The value over a common denominator, with numbers too small to overflow.
std::int64_t over(const Rank& rank, const Rank& other, std::int64_t now) {
  return (rank.base + rank.slope * now) * other.scale;
}

int naive_compare(const Rank& a, const Rank& b, std::int64_t now) {
  const std::int64_t left = over(a, b, now);
  const std::int64_t right = over(b, a, now);
  if (left != right) return left < right ? -1 : 1;
  return a.tie < b.tie ? -1 : a.tie > b.tie ? 1 : 0;
}

std::vector<Rank> small_ranks() {
  std::vector<Rank> ranks;
  for (std::int64_t base = -6; base <= 6; base += 2) {
    for (std::int32_t slope = -1; slope <= 1; ++slope) {
      for (const std::int64_t scale : {1, 2, 3}) ranks.push_back({base, slope, scale, 0});
    }
  }
  return ranks;
}

TEST(Rank, ComparesLikeFractions) {
  for (Rank a : small_ranks()) {
    for (Rank b : small_ranks()) {
      for (const std::int64_t now : {0, 1, 2, 7}) {
        for (std::int64_t tie = -1; tie <= 1; ++tie) {
          a.tie = tie;
          ASSERT_EQ(compare(a, b, Instant::micros(now)), naive_compare(a, b, now))
              << a.base << '+' << a.slope << "t/" << a.scale << " and " << b.base << '+' << b.slope
              << "t/" << b.scale << " at " << now << ", tie " << tie;
        }
      }
    }
  }
}

TEST(Rank, TieDecidesOnlyBetweenEqualValues) {
  const Rank one_half = {1, 0, 2, 5};
  const Rank two_quarters = {2, 0, 4, 4};
  EXPECT_GT(compare(one_half, two_quarters, Instant()), 0);
  EXPECT_LT(compare(two_quarters, one_half, Instant()), 0);
  const Rank a_third = {1, 0, 3, 99};
  EXPECT_LT(compare(a_third, two_quarters, Instant()), 0);
  EXPECT_EQ(compare(one_half, one_half, Instant()), 0);
}

TEST(Rank, LevelsComeFirstAndNeverOvertake) {
  Rank urgent = {100, 1};
  urgent.level = -1;
  const Rank usual = {0, 0};
  EXPECT_LT(compare(urgent, usual, Instant()), 0);
  EXPECT_GT(compare(usual, urgent, kHorizon), 0);
  EXPECT_EQ(overtaken_at(urgent, usual, Instant(), true), Instant::never());
}

TEST(Rank, ComparesTheHugestNumbersWithoutOverflow) {
  const Rank lowest = {kMin, -1, 1, 0};
  const Rank highest = {kMax, 1, 1, 0};
  const Rank nearly = {kMax - 1, 1, 1, 0};
  const Rank thin = {kMax, 1, kMax, 0};  // About 1 at time zero, 2 at the end of time.
  const Instant end = Instant::micros(kMax);
  EXPECT_LT(compare(lowest, highest, end), 0);
  EXPECT_GT(compare(highest, nearly, end), 0);
  EXPECT_LT(compare(thin, highest, end), 0);
  EXPECT_EQ(compare(thin, Rank{2, 0, 1, 0}, end), 0);
  EXPECT_LT(compare(lowest, Rank{kMin, 1, kMax, 0}, end), 0);
}

// The first microsecond after `now` at which b is before a, by linear search.
std::int64_t naive_overtaken(const Rank& a, const Rank& b, std::int64_t now, bool level_counts) {
  for (std::int64_t t = now + 1; t < now + 200; ++t) {
    const std::int64_t left = over(a, b, t);
    const std::int64_t right = over(b, a, t);
    if (left > right || (level_counts && left == right)) return t;
  }
  return kMax;
}

TEST(Rank, KnowsWhenItIsOvertaken) {
  int crossings = 0;
  for (const Rank& a : small_ranks()) {
    for (const Rank& b : small_ranks()) {
      for (const std::int64_t now : {0, 3, 10}) {
        for (const bool level_counts : {false, true}) {
          const std::int64_t left = over(a, b, now);
          const std::int64_t right = over(b, a, now);
          if (left > right || (left == right && level_counts)) continue;  // a is not ahead.
          const Instant got = overtaken_at(a, b, Instant::micros(now), level_counts);
          const std::int64_t want = naive_overtaken(a, b, now, level_counts);
          crossings += want != kMax ? 1 : 0;
          ASSERT_EQ(got.us(), want)
              << a.base << '+' << a.slope << "t/" << a.scale << " ahead of " << b.base << '+'
              << b.slope << "t/" << b.scale << " at " << now << ", level counts " << level_counts;
        }
      }
    }
  }
  EXPECT_GT(crossings, 1000);  // Otherwise the loop tested nothing.
}

TEST(Rank, FindsCrossingsOfLargeNumbersToTheMicrosecond) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(testing::Message() << "reproduce with seed " << seed);
    Random random(seed);
    const auto any = [&](std::int64_t most) {
      return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most)));
    };
    constexpr std::int64_t kLong = 90'000'000'000'000'000;  // kLongestDuration.
    const Rank a = {any(kLong) - any(kLong), static_cast<std::int32_t>(random.below(3)) - 1,
                    1 + any(kLong), 0};
    const Rank b = {any(kLong) - any(kLong), static_cast<std::int32_t>(random.below(3)) - 1,
                    1 + any(kLong), 0};
    const Instant now = Instant::micros(any(kLong));
    if (compare(a, b, now) >= 0) continue;
    const Instant at = overtaken_at(a, b, now, false);
    ASSERT_GT(at, now);
    const Instant eve = at == Instant::never() ? Instant::micros(kMax) : at - Duration::micros(1);
    ASSERT_LE(compare(a, b, eve), 0) << "overtaken before the returned time";
    if (at == Instant::never()) continue;
    ASSERT_GT(compare(a, b, at), 0) << "not yet overtaken";
  }
}

TEST(Rank, IsNeverOvertakenBeyondTheEndOfTime) {
  const Rank first = {kMin, 1, kMax, 0};
  const Rank last = {kMax, 0, 1, 0};
  EXPECT_EQ(overtaken_at(first, last, Instant::micros(kMax - 1), true), Instant::never());
  EXPECT_EQ(overtaken_at({kMin, 0, 1, 0}, {kMax, -1, kMax, 0}, Instant(), true), Instant::never());
}

}  // namespace
}  // namespace muster
