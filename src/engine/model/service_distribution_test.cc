#include "engine/model/service_distribution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <limits>

#include "base/types/random.h"

namespace muster {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

// The definition, word for word.
GittinsIndex naive_index(const std::vector<std::int64_t>& samples, std::int64_t attained,
                         std::int64_t quantum) {
  GittinsIndex index = {0, 0};
  for (const std::int64_t sample : samples) {
    if (sample <= attained) continue;
    if (sample - attained <= quantum) ++index.finishing;
    index.service += std::min(sample - attained, quantum);
  }
  return index.service == 0 ? GittinsIndex{} : index;
}

void expect_index(const GittinsIndex& index, std::int64_t finishing, std::int64_t service) {
  EXPECT_EQ(index.finishing, finishing);
  EXPECT_EQ(index.service, service);
}

void expect_same(const ServiceDistribution& a, const ServiceDistribution& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::int64_t attained = 0; attained < 1000; attained += 7) {
    const GittinsIndex expected = b.index(attained, 100);
    expect_index(a.index(attained, 100), expected.finishing, expected.service);
  }
}

// C7 of the sources: jobs of 4, 8 and 12. The slide's 1/8, 1/6 and 1/4 are the largest over all
// quanta, which here is what every quantum gives that reaches the longest job (12 and more).
TEST(ServiceDistribution, SlideOfThreeJobs) {
  const ServiceDistribution jobs({12, 4, 8});
  for (const std::int64_t quantum : {std::int64_t{12}, std::int64_t{100}, kMax}) {
    expect_index(jobs.index(0, quantum), 3, 24);
    expect_index(jobs.index(4, quantum), 2, 12);
    expect_index(jobs.index(8, quantum), 1, 4);
  }
  for (std::int64_t attained = 0; attained <= 8; attained += 4) {
    for (std::int64_t quantum = 1; quantum < 12; ++quantum) {
      EXPECT_LE(compare(jobs.index(attained, quantum), jobs.index(attained, 12)), 0);
    }
  }
}

TEST(ServiceDistribution, LastPlaceWhereNothingIsKnownToEnd) {
  const ServiceDistribution none;
  const ServiceDistribution jobs({4, 8, 12});
  expect_index(none.index(0, 10), 0, 1);
  expect_index(jobs.index(12, 10), 0, 1);  // Outlived all.
  expect_index(jobs.index(kMax, 10), 0, 1);
  expect_index(jobs.index(8, 3), 0, 3);  // The next end is beyond the quantum.
  EXPECT_EQ(compare(jobs.index(12, 10), jobs.index(8, 3)), 0);
  EXPECT_LT(compare(jobs.index(8, 3), jobs.index(8, 4)), 0);
}

TEST(ServiceDistribution, CountsASampleAtTheBorderOnce) {
  const ServiceDistribution jobs({5, 5, 10});
  expect_index(jobs.index(4, 1), 2, 3);  // Ends exactly with the quantum: ended.
  expect_index(jobs.index(5, 5), 1, 5);  // Exactly as far as this job: not ahead of it.
}

TEST(ServiceDistribution, ComparesExactly) {
  const std::int64_t large = kMax - 1;
  EXPECT_LT(compare({1, large}, {1, large - 1}), 0);  // Equal as doubles.
  EXPECT_GT(compare({large, large - 1}, {large - 1, large - 1}), 0);
  EXPECT_EQ(compare({2, 6}, {1, 3}), 0);
  EXPECT_DOUBLE_EQ((GittinsIndex{1, 4'000'000}.value()), 0.25);
}

TEST(ServiceDistribution, DoesNotOverflow) {
  const auto most = static_cast<std::int64_t>(ServiceDistribution::kMaxSamples);
  const ServiceDistribution jobs(std::vector<std::int64_t>(ServiceDistribution::kMaxSamples, kMax));
  expect_index(jobs.index(0, kMax), 0, most * ServiceDistribution::kLargestQuantum);
  expect_index(jobs.index(kMax - 3, kMax), most, most * 3);
}

TEST(ServiceDistribution, AgreesWithTheDefinition) {
  Random random(7);
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t range = round % 2 == 0 ? 20 : 1'000'000'000'000;
    std::vector<std::int64_t> samples(random.below(60));
    for (std::int64_t& sample : samples) sample = static_cast<std::int64_t>(random.below(range));
    const ServiceDistribution jobs(samples);
    ServiceDistribution learned;
    for (const std::int64_t sample : samples) learned.learn(sample);
    for (int i = 0; i < 50; ++i) {
      const auto attained = static_cast<std::int64_t>(random.below(range + 2));
      const auto quantum = static_cast<std::int64_t>(1 + random.below(range));
      const GittinsIndex expected = naive_index(samples, attained, quantum);
      expect_index(jobs.index(attained, quantum), expected.finishing, expected.service);
      expect_index(learned.index(attained, quantum), expected.finishing, expected.service);
    }
  }
}

TEST(ServiceDistribution, ForgetsTheOldest) {
  Random random(8);
  ServiceDistribution jobs;
  std::deque<std::int64_t> latest;
  for (std::size_t i = 0; i < ServiceDistribution::kMaxSamples * 5 / 2; ++i) {
    // Ever larger, so that forgetting the wrong ones would show.
    const auto service = static_cast<std::int64_t>(i + random.below(1000));
    jobs.learn(service);
    latest.push_back(service);
    if (latest.size() > ServiceDistribution::kMaxSamples) latest.pop_front();
    if (i % 997 != 0) continue;
    ASSERT_EQ(jobs.size(), latest.size());
    const std::vector<std::int64_t> samples(latest.begin(), latest.end());
    for (int k = 0; k < 10; ++k) {
      const auto attained = static_cast<std::int64_t>(random.below(i + 1000));
      const GittinsIndex expected = naive_index(samples, attained, 500);
      expect_index(jobs.index(attained, 500), expected.finishing, expected.service);
    }
  }
}

TEST(ServiceDistribution, HistoryHasNoOrder) {
  std::vector<std::int64_t> samples;
  for (std::int64_t i = 0; i < 12'000; ++i) samples.push_back(i / 12);
  ServiceDistribution upwards(samples);
  std::reverse(samples.begin(), samples.end());
  ServiceDistribution downwards(samples);
  EXPECT_EQ(upwards.size(), ServiceDistribution::kMaxSamples);
  expect_same(upwards, downwards);

  // Replacing half leaves large and small ones alike: some 5,000 of 10,000, half below the middle.
  for (int i = 0; i < 5'000; ++i) {
    upwards.learn(2'000);
    downwards.learn(2'000);
  }
  expect_same(upwards, downwards);
  const std::int64_t above = upwards.index(499, 500).finishing;
  EXPECT_NEAR(static_cast<double>(above), 2'500, 100);
}

}  // namespace
}  // namespace muster
