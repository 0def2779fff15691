// Ranks by Gittins index, and the times at which learned data takes effect.

#include "engine/policy/service_history.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "base/types/random.h"
#include "engine/policy/testing.h"

namespace muster {
namespace {

constexpr std::int64_t kOneSecond = 1'000'000;

Rank rank(const ServiceHistory& history, std::int64_t level, std::int64_t attained,
          std::int64_t quantum) {
  return rank_by_index(level, history.index(attained, quantum), history.index(0, quantum));
}

TEST(ServiceHistory, RanksAsTheExactIndicesCompare) {
  Random random(7);
  for (int round = 0; round < 200; ++round) {
    // Sometimes few values, so that there are ties, sometimes many, up to two GPU-years.
    const std::uint64_t widest = std::uint64_t{2} << random.below(46);
    std::vector<std::int64_t> samples(1 + random.below(50));
    for (std::int64_t& sample : samples) sample = static_cast<std::int64_t>(random.below(widest));
    const ServiceDistribution distribution(samples);
    constexpr std::int64_t kLevels = 3;
    const ServiceHistory history(distribution, kLevels);
    struct Case {
      std::int64_t level, attained;
      GittinsIndex index;
      Rank rank;
    };
    const auto quantum = static_cast<std::int64_t>(1 + random.below(widest));
    std::vector<Case> cases;
    for (int i = 0; i < 40; ++i) {
      const auto level = static_cast<std::int64_t>(random.below(kLevels));
      const auto attained = static_cast<std::int64_t>(random.below(widest + widest / 4));
      cases.push_back({level, attained, distribution.index(attained, quantum),
                       rank(history, level, attained, quantum)});
    }
    for (const Case& a : cases) {
      for (const Case& b : cases) {
        const int wanted = a.level != b.level ? (a.level < b.level ? -1 : 1)
                                              : compare(b.index, a.index);  // The larger first.
        ASSERT_EQ(order(a.rank, b.rank), wanted)
            << "levels " << a.level << ", " << b.level << ", attained " << a.attained << ", "
            << b.attained << ", quantum " << quantum;
      }
    }
  }
}

TEST(ServiceHistory, RanksWithoutOverflow) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> samples(ServiceDistribution::kMaxSamples, most);
  samples[0] = 1;
  const ServiceHistory history(ServiceDistribution(samples), /*levels=*/101);
  const Rank better = rank(history, 100, 0, kLongestDuration.us());
  const Rank worse = rank(history, 100, 1, kLongestDuration.us());  // Zero.
  EXPECT_GT(better.base, 0);
  EXPECT_GT(better.scale, 0);
  EXPECT_LT(order(better, worse), 0);
  EXPECT_GT(order(better, rank(history, 99, 1, kLongestDuration.us())), 0);
}

TEST(ServiceHistory, AnIndexOfZeroIsLastInItsLevel) {
  const ServiceHistory history(seconds({10, 500}), /*levels=*/2);
  const std::int64_t quantum = 100 * kOneSecond;
  const Rank gap = rank(history, 0, 20 * kOneSecond, quantum);      // None ends within 100 s.
  const Rank beyond = rank(history, 0, 600 * kOneSecond, quantum);  // None got so far.
  EXPECT_EQ(order(gap, beyond), 0);
  EXPECT_LT(order(rank(history, 0, 400 * kOneSecond, quantum), gap), 0);
  EXPECT_LT(order(gap, rank(history, 1, 0, quantum)), 0);
}

// (4, 8, 12) of the slides: the jobs of that example are all at zero, and tie.
TEST(Sanity, C7_JobsThatHadNothingTie) {
  const ServiceHistory history(seconds({4, 8, 12}), /*levels=*/1);
  const std::int64_t quantum =
      12 * kOneSecond;  // The best for each, so these are the true indices.
  EXPECT_EQ(compare(history.index(0, quantum), {1, 8 * kOneSecond}), 0);
  EXPECT_EQ(compare(history.index(4 * kOneSecond, quantum), {1, 6 * kOneSecond}), 0);
  EXPECT_EQ(compare(history.index(8 * kOneSecond, quantum), {1, 4 * kOneSecond}), 0);
  const Rank at0 = rank(history, 0, 0, quantum);
  const Rank at4 = rank(history, 0, 4 * kOneSecond, quantum);
  const Rank at8 = rank(history, 0, 8 * kOneSecond, quantum);
  EXPECT_EQ(order(at0, at0), 0);
  EXPECT_LT(order(at4, at0), 0);
  EXPECT_LT(order(at8, at4), 0);
}

// How many of `count` jobs had completed at each renewal.
std::vector<int> renewals(ServiceHistory& history, int count, std::int64_t service) {
  std::vector<int> at;
  for (int i = 1; i <= count; ++i) {
    std::vector<JobId> moved;
    history.completed(service);
    if (history.renew(moved)) at.push_back(i);
    EXPECT_EQ(moved.size(), 0U);
  }
  return at;
}

TEST(ServiceHistory, RenewsAfterATenthMoreAndTwentyAtLeast) {
  ServiceHistory history(ServiceDistribution(), /*levels=*/1);
  const std::vector<int> at = renewals(history, 300, kOneSecond);
  EXPECT_EQ(at,
            (std::vector<int>{20, 40, 60, 80, 100, 120, 140, 160, 180, 200, 220, 242, 266, 292}));
}

TEST(ServiceHistory, WhatItIsToldStays) {
  ServiceHistory history(seconds({5}), /*levels=*/1);
  EXPECT_TRUE(history.is_known());
  EXPECT_EQ(renewals(history, 100, kOneSecond), std::vector<int>());
}

TEST(ServiceHistory, ForgetsWhatIsLongAgo) {
  constexpr auto kMax = static_cast<int>(ServiceDistribution::kMaxSamples);
  ServiceHistory history(ServiceDistribution(), /*levels=*/1);
  renewals(history, kMax, kOneSecond);
  renewals(history, 2 * kMax, 5 * kOneSecond);
  const ServiceHistory fives(seconds({5}), /*levels=*/1);
  EXPECT_EQ(order(rank(history, 0, 0, 9 * kOneSecond), rank(fives, 0, 0, 9 * kOneSecond)), 0);
}

}  // namespace
}  // namespace muster
