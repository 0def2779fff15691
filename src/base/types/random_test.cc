#include "base/types/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace muster {
namespace {

// Relative error, or absolute error if the true value is zero.
double difference(double ours, double theirs) {
  return theirs == 0.0 ? std::abs(ours) : std::abs(ours - theirs) / std::abs(theirs);
}

TEST(Random, IsTheSameEverywhere) {
  Random random(42);
  // Computed independently, from the published xoshiro256** and splitmix64.
  const std::uint64_t expected[] = {0x15780b2e0c2ec716ULL, 0x6104d9866d113a7eULL,
                                    0xae17533239e499a1ULL, 0xecb8ad4703b360a1ULL};
  for (const std::uint64_t word : expected) EXPECT_EQ(random.next(), word);
  Random other(42);
  EXPECT_EQ(other.uniform(), static_cast<double>(expected[0] >> 11U) * 0x1.0p-53);
  Random draws(42);
  EXPECT_EQ(draws.exponential(1.0), 0x1.66c411e55956ap-4);
  EXPECT_EQ(draws.normal(), -0x1.04ff9bfe3c5b1p+0);
}

TEST(Random, ForksAreNamedAndIndependentOfDraws) {
  const Random fresh(7);
  Random used(7);
  for (int i = 0; i < 100; ++i) used.next();
  Random a = fresh.fork("faults");
  Random b = used.fork("faults");
  Random c = fresh.fork("arrivals");
  Random d = Random(8).fork("faults");
  int equal_names = 0;
  int equal_seeds = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t word = a.next();
    EXPECT_EQ(word, b.next());
    equal_names += word == c.next() ? 1 : 0;
    equal_seeds += word == d.next() ? 1 : 0;
  }
  EXPECT_EQ(equal_names, 0);
  EXPECT_EQ(equal_seeds, 0);
}

TEST(Random, ForkedStreamsDoNotMoveTogether) {
  const Random root(3);
  Random a = root.fork("a");
  Random b = root.fork("b");
  double sum = 0;
  constexpr int kDraws = 20'000;
  for (int i = 0; i < kDraws; ++i) sum += (a.uniform() - 0.5) * (b.uniform() - 0.5);
  // The correlation of independent streams has a standard deviation of 1 / sqrt(n) = 0.007.
  EXPECT_LT(std::abs(sum / kDraws * 12), 0.035);
}

TEST(Random, BelowIsFairAndBounded) {
  Random random(1);
  constexpr int kDraws = 70'000;
  std::vector<int> counts(7);
  for (int i = 0; i < kDraws; ++i) {
    const std::uint64_t draw = random.below(7);
    ASSERT_LT(draw, 7U);
    ++counts[draw];
  }
  for (const int count : counts) EXPECT_NEAR(count, kDraws / 7, 5 * 93);  // Five deviations.
  EXPECT_EQ(random.below(1), 0U);
  // Two thirds of all words: a plain remainder would make the lower half twice as likely.
  constexpr std::uint64_t kLarge = 0xAAAAAAAAAAAAAAAAULL;
  int low = 0;
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t draw = random.below(kLarge);
    ASSERT_LT(draw, kLarge);
    low += draw < kLarge / 2 ? 1 : 0;
  }
  EXPECT_NEAR(low, 5000, 250);
  EXPECT_LT(random.below(std::numeric_limits<std::uint64_t>::max()),
            std::numeric_limits<std::uint64_t>::max());
}

TEST(Random, UniformStaysInItsRange) {
  Random random(5);
  double sum = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double u = random.uniform();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
    const double ranged = random.uniform(-3, 5);
    ASSERT_GE(ranged, -3.0);
    ASSERT_LE(ranged, 5.0);
  }
  EXPECT_NEAR(sum / 100'000, 0.5, 0.005);
}

TEST(Random, ExponentialAndNormalHaveTheirMoments) {
  Random random(6);
  constexpr int kDraws = 100'000;
  double exponential = 0;
  double normal = 0;
  double squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double e = random.exponential(3.0);
    ASSERT_GE(e, 0.0);
    exponential += e;
    const double n = random.normal();
    normal += n;
    squares += n * n;
  }
  EXPECT_NEAR(exponential / kDraws, 3.0, 0.05);
  EXPECT_NEAR(normal / kDraws, 0.0, 0.02);
  EXPECT_NEAR(squares / kDraws, 1.0, 0.03);
}

TEST(PortableLog, AgreesWithLibm) {
  Random random(11);
  double worst = 0;
  for (int i = 0; i < 200'000; ++i) {
    const double x =
        std::ldexp(1.0 + random.uniform(), static_cast<int>(random.below(2040)) - 1020);
    worst = std::max(worst, difference(portable_log(x), std::log(x)));
    const double near_one = random.uniform(0.5, 2.0);
    worst = std::max(worst, difference(portable_log(near_one), std::log(near_one)));
  }
  for (const double x : {1.0, 0x1.fffffffffffffp-1, 0x1.0000000000001p0, 5e-324, 1e-310, 1.7e308,
                         1.4142135623730951, 1.4142135623730954}) {
    worst = std::max(worst, difference(portable_log(x), std::log(x)));
  }
  EXPECT_LT(worst, 1e-14);
  EXPECT_EQ(portable_log(1.0), 0.0);
}

TEST(PortableExp, AgreesWithLibm) {
  Random random(12);
  double worst = 0;
  for (int i = 0; i < 200'000; ++i) {
    const double x = random.uniform(-699.9, 699.9);
    worst = std::max(worst, difference(portable_exp(x), std::exp(x)));
    const double small = random.uniform(-1, 1);
    worst = std::max(worst, difference(portable_exp(small), std::exp(small)));
  }
  EXPECT_LT(worst, 1e-14);
  EXPECT_EQ(portable_exp(0.0), 1.0);
}

}  // namespace
}  // namespace muster
