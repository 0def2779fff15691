#include "workload/generate/balanced_sampler.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(BalancedSampler, KeepsToSharesThoughLotsAreUneven) {
  Random random(1);
  BalancedSampler sampler({{50, 100}, {49, 1}, {1, 3}}, 200);
  std::vector<double> jobs(3, 0);
  double total = 0;
  while (total < 20'000) {
    const std::size_t kind = sampler.draw(random);
    const double lot = kind == 0 ? random.uniform(0, 200) : kind == 1 ? 1 : 3;
    sampler.count(kind, lot);
    jobs[kind] += lot;
    total += lot;
  }
  // A kind is ahead by at most one lot, and behind by at most one lot plus its share of the slack.
  EXPECT_NEAR(jobs[0], 0.50 * total, 300);
  EXPECT_NEAR(jobs[1], 0.49 * total, 300);
  EXPECT_NEAR(jobs[2], 0.01 * total, 6);
}

TEST(BalancedSampler, DrawsLargeLotsSeldom) {
  Random random(2);
  const BalancedSampler sampler({{1, 9}, {1, 1}}, 10);
  int large = 0;
  for (int i = 0; i < 10'000; ++i) large += sampler.draw(random) == 0 ? 1 : 0;
  EXPECT_NEAR(large, 1000, 150);
  EXPECT_NEAR(sampler.mean_lot(), 1.8, 1e-9);
}

TEST(BalancedSampler, PassesOverWhoeverHadTooMuch) {
  Random random(3);
  BalancedSampler sampler({{1}, {1}}, 10);
  sampler.count(0, 100);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(sampler.draw(random), 1u);
}

TEST(BalancedSampler, HeedsLikings) {
  Random random(4);
  const BalancedSampler sampler({{1}, {1}, {0}}, 10);
  const double liking[] = {3, 1, 100};
  int first = 0;
  for (int i = 0; i < 10'000; ++i) {
    const std::size_t kind = sampler.draw(random, liking);
    ASSERT_NE(kind, 2u);
    first += kind == 0 ? 1 : 0;
  }
  EXPECT_NEAR(first, 7500, 200);
}

}  // namespace
}  // namespace muster
