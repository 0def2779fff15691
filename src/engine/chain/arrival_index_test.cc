#include "engine/chain/arrival_index.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "base/types/random.h"

namespace muster {
namespace {

// Reference implementation: a linear scan.
std::optional<JobId> scan(const std::map<JobId, Duration>& jobs, Duration longest,
                          std::optional<JobId> after) {
  for (const auto& [job, estimate] : jobs) {
    if (estimate <= longest && (!after || job > *after)) return job;
  }
  return std::nullopt;
}

std::int64_t number(std::optional<JobId> job) { return job ? std::int64_t{job->index()} : -1; }

void expect_same(const ArrivalIndex& index, const std::map<JobId, Duration>& naive, Random& random,
                 std::uint32_t ids) {
  ASSERT_EQ(index.size(), naive.size());
  std::optional<JobId> after;
  if (random.below(3) != 0) after = JobId(static_cast<std::uint32_t>(random.below(ids + 3)));
  for (const Duration longest : {Duration::micros(-1), Duration(), Duration::micros(25),
                                 Duration::micros(static_cast<std::int64_t>(random.below(60))),
                                 Duration::max() - Duration::micros(1), Duration::max()}) {
    ASSERT_EQ(number(index.oldest(longest, after)), number(scan(naive, longest, after)))
        << "at most " << longest.us() << ", after " << number(after);
  }
}

TEST(ArrivalIndexProperty, AgreesWithALinearScan) {
  for (std::uint64_t seed = 0; seed < 80; ++seed) {
    SCOPED_TRACE(testing::Message() << "reproduce with seed " << seed);
    Random random(seed);
    ArrivalIndex index;
    std::map<JobId, Duration> naive;
    std::vector<JobId> gone;
    std::uint32_t ids = 0;
    const std::size_t target = 1 + random.below(100);
    for (int step = 0; step < 400; ++step) {
      const Duration estimate = Duration::micros(static_cast<std::int64_t>(random.below(50)));
      if (random.below(2 * target) < naive.size()) {
        auto at = naive.begin();
        std::advance(at, random.below(3) == 0 ? 0 : random.below(naive.size()));
        index.remove(at->first);
        gone.push_back(at->first);
        naive.erase(at);
      } else if (!gone.empty() && random.below(3) == 0) {  // An old job comes back.
        std::swap(gone[random.below(gone.size())], gone.back());
        index.insert(gone.back(), estimate);
        naive[gone.back()] = estimate;
        gone.pop_back();
      } else {
        ids += static_cast<std::uint32_t>(random.below(3));  // Others are in other classes.
        if (naive.contains(JobId(ids))) ++ids;
        std::erase(gone, JobId(ids));
        index.insert(JobId(ids), estimate);
        naive[JobId(ids)] = estimate;
        ++ids;
      }
      ASSERT_NO_FATAL_FAILURE(expect_same(index, naive, random, ids)) << "step " << step;
    }
  }
}

TEST(ArrivalIndex, FindsNobodyWhenEmpty) {
  ArrivalIndex index;
  EXPECT_FALSE(index.oldest(Duration::max(), std::nullopt));
  index.insert(JobId(7), Duration());
  index.remove(JobId(7));
  EXPECT_EQ(index.size(), 0U);
  EXPECT_FALSE(index.oldest(Duration::max(), std::nullopt));
  EXPECT_FALSE(index.oldest(Duration::max(), JobId(3)));
}

TEST(ArrivalIndex, FindsTheLastOfAFullRow) {
  ArrivalIndex index;
  for (std::uint32_t i = 0; i < 16; ++i) index.insert(JobId(i), Duration::micros(100 - i));
  EXPECT_EQ(index.oldest(Duration::micros(85), std::nullopt), JobId(15));
  EXPECT_EQ(index.oldest(Duration::max(), JobId(14)), JobId(15));
  EXPECT_FALSE(index.oldest(Duration::max(), JobId(15)));
  EXPECT_FALSE(index.oldest(Duration::micros(84), std::nullopt));
}

TEST(ArrivalIndex, TakesTheNewEstimateOfAJobThatComesBack) {
  ArrivalIndex index;
  for (std::uint32_t i = 0; i < 5; ++i) index.insert(JobId(i), Duration::micros(50));
  index.remove(JobId(2));
  index.insert(JobId(2), Duration::micros(10));
  EXPECT_EQ(index.size(), 5U);
  EXPECT_EQ(index.oldest(Duration::micros(10), std::nullopt), JobId(2));
}

TEST(ArrivalIndexDeathTest, StopsAtAJobThatIsNotThere) {
  ArrivalIndex index;
  index.insert(JobId(1), Duration());
  EXPECT_DEATH(index.remove(JobId(2)), "broken invariant");
  index.remove(JobId(1));
  EXPECT_DEATH(index.remove(JobId(1)), "broken invariant");
  EXPECT_DEATH(index.insert(JobId(1), Duration::max()), "broken invariant");
}

}  // namespace
}  // namespace muster
