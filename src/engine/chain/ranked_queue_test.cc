#include "engine/chain/ranked_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/types/random.h"

namespace muster {
namespace {

// Reference implementation: a full sort at each call.
struct NaiveQueue {
  struct Row {
    JobId job;
    Rank rank;
    RankedQueue::Slot slot;
  };
  std::vector<Row> rows;

  std::vector<JobId> in_order(Instant now) const {
    std::vector<Row> sorted = rows;
    std::sort(sorted.begin(), sorted.end(), [now](const Row& a, const Row& b) {
      const Wide left = (static_cast<Wide>(a.rank.slope) * now.us() + a.rank.base) * b.rank.scale;
      const Wide right = (static_cast<Wide>(b.rank.slope) * now.us() + b.rank.base) * a.rank.scale;
      if (left != right) return left < right;
      if (a.rank.tie != b.rank.tie) return a.rank.tie < b.rank.tie;
      return a.job < b.job;
    });
    std::vector<JobId> jobs;
    for (const Row& row : sorted) jobs.push_back(row.job);
    return jobs;
  }
};

std::vector<JobId> walk(const RankedQueue& queue, Instant now) {
  std::vector<JobId> jobs;
  RankedQueue::Walk walk;
  for (walk.begin(queue, now); !walk.done(); walk.next()) jobs.push_back(walk.entry().job);
  return jobs;
}

std::vector<std::uint32_t> numbers(const std::vector<JobId>& jobs) {
  std::vector<std::uint32_t> result;
  for (const JobId job : jobs) result.push_back(job.index());
  return result;
}

struct QueueKind {
  const char* name;
  bool slopes;                // Ranks move with time, like those of finish-time fairness.
  std::int64_t bases;         // Few, so that ranks are often equal, or many.
  std::int64_t scales;        // 1 for whole numbers.
  std::int64_t ties;          // 1 for none.
  std::int64_t longest_wait;  // Between steps.
};
class RankedQueueProperty : public testing::TestWithParam<QueueKind> {};

Rank any_rank(const QueueKind& kind, Random& random) {
  const auto any = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most)));
  };
  Rank rank;
  rank.base = any(kind.bases) - kind.bases / 2;
  rank.slope = kind.slopes ? static_cast<std::int32_t>(random.below(3)) - 1 : 0;
  rank.scale = 1 + any(kind.scales);
  rank.tie = any(kind.ties);
  return rank;
}

TEST_P(RankedQueueProperty, AgreesWithSortingAtEveryQuestion) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(testing::Message() << "reproduce with seed " << seed);
    Random random(seed);
    RankedQueue queue;
    NaiveQueue naive;
    Instant now;
    std::uint32_t next_job = 0;
    const std::size_t target = 1 + random.below(60);  // The approximate length of the queue.
    for (int step = 0; step < 250; ++step) {
      const bool grows = random.below(2 * target) >= naive.rows.size();
      if (grows) {
        const JobId job(next_job++);
        const Rank rank = any_rank(GetParam(), random);
        naive.rows.push_back({job, rank, queue.insert(job, rank, now)});
      } else {
        // Often removes the first job, as schedulers do.
        std::size_t at = random.below(naive.rows.size());
        if (random.below(2) == 0) {
          const JobId first = naive.in_order(now).front();
          while (naive.rows[at].job != first) at = (at + 1) % naive.rows.size();
        }
        queue.remove(naive.rows[at].slot, now);
        naive.rows.erase(naive.rows.begin() + static_cast<std::ptrdiff_t>(at));
      }
      // Time also passes between changes without a read.
      const auto wait = static_cast<std::uint64_t>(GetParam().longest_wait);
      if (random.below(3) == 0)
        now = now + Duration::micros(static_cast<std::int64_t>(random.below(wait + 1)));
      if (random.below(2) == 0) continue;
      queue.advance(now);
      ASSERT_EQ(queue.size(), naive.rows.size());
      ASSERT_EQ(queue.empty(), naive.rows.empty());
      const std::vector<JobId> want = naive.in_order(now);
      ASSERT_EQ(numbers(walk(queue, now)), numbers(want)) << "step " << step;
      if (want.empty()) continue;
      ASSERT_EQ(queue.first().job, want.front()) << "step " << step;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(RankedQueue, RankedQueueProperty,
                         testing::ValuesIn<QueueKind>({
                             {"StandingStill", false, 1'000'000, 1, 1, 50},
                             {"StandingStillManyLevel", false, 5, 1, 3, 50},
                             {"StandingStillFractions", false, 40, 7, 2, 50},
                             {"Moving", true, 100, 1, 1, 10},
                             {"MovingOneMicrosecondAtATime", true, 30, 4, 1, 1},
                             {"MovingFractions", true, 1000, 60, 1, 40},
                             {"MovingWithTies", true, 30, 3, 3, 3},
                             {"MovingLongWaits", true, 1'000'000'000'000, 1'000'000, 1,
                              40'000'000'000},
                         }),
                         [](const auto& row) { return row.param.name; });

// Finish-time fairness: a waiting job with a short estimate overtakes one with a long estimate.
TEST(RankedQueue, LetsTheFasterOvertakeAtTheExactInstant) {
  RankedQueue queue;
  queue.insert(JobId(0), {-100, -1, 100, 0}, Instant());  // -(100 + t) / 100
  queue.insert(JobId(1), {-5, -1, 10, 0}, Instant());     // -(5 + t) / 10: level at 50/9 = 5.56 us.
  queue.advance(Instant::micros(5));
  EXPECT_EQ(queue.first().job, JobId(0));
  queue.advance(Instant::micros(6));
  EXPECT_EQ(queue.first().job, JobId(1));
}

TEST(RankedQueue, TieDecidesWhoIsAheadAtTheInstantTheyDrawLevel) {
  RankedQueue queue;
  queue.insert(JobId(0), {0, 0, 1, /*tie=*/2}, Instant());
  queue.insert(JobId(1), {10, -1, 1, /*tie=*/1}, Instant());  // Level at 10 us, and before it then.
  queue.advance(Instant::micros(9));
  EXPECT_EQ(queue.first().job, JobId(0));
  queue.advance(Instant::micros(10));
  EXPECT_EQ(queue.first().job, JobId(1));
}

TEST(RankedQueue, WalksNobodyWhenEmpty) {
  RankedQueue queue;
  queue.advance(Instant::micros(5));
  EXPECT_TRUE(walk(queue, Instant::micros(5)).empty());
  const RankedQueue::Slot slot = queue.insert(JobId(3), {1}, Instant::micros(5));
  queue.remove(slot, Instant::micros(5));
  EXPECT_TRUE(walk(queue, Instant::micros(5)).empty());
  EXPECT_DEATH(static_cast<void>(queue.first()), "broken invariant");
  EXPECT_DEATH(queue.remove(slot, Instant::micros(5)), "broken invariant");
}

}  // namespace
}  // namespace muster
