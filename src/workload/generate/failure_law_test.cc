#include "workload/generate/failure_law.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace muster {
namespace {

// Run times that are log-uniform from one second to twelve days.
std::vector<Duration> many_run_times() {
  Random random(1);
  std::vector<Duration> times;
  for (int i = 0; i < 50'000; ++i) {
    times.push_back(
        Duration::micros(static_cast<std::int64_t>(1e6 * portable_exp(random.uniform(0, 13.8)))));
  }
  std::sort(times.begin(), times.end());
  return times;
}

TEST(FailureLaw, FailsAsManyAsAskedForByTheReasonsOfTheTable) {
  const std::vector<Duration> times = many_run_times();
  Random random(2);
  for (const SizeClass size : {SizeClass::kOne, SizeClass::kTwoToFour, SizeClass::kMore}) {
    const FailureLaw law(size, 0.3, times);
    std::map<Reason, double> jobs;
    double failed = 0;
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (const auto reason = law.draw(i, random)) {
        ++jobs[*reason];
        ++failed;
      }
    }
    EXPECT_NEAR(failed / static_cast<double>(times.size()), 0.3, 0.01);
    EXPECT_EQ(jobs.count(Reason::kPreempted), 0u);
    double all = 0;
    std::map<Reason, double> wanted;
    for (const ReasonInfo& info : reasons()) {
      if (info.reason == Reason::kPreempted) continue;
      wanted[info.reason] = info.trials_by_size[static_cast<std::size_t>(size)] / tries_of(info);
      all += wanted[info.reason];
    }
    for (const auto& [reason, part] : wanted) {
      EXPECT_NEAR(jobs[reason] / failed, part / all, 0.01) << info_of(reason).name;
    }
  }
}

// Half of the attempts that fail for a reason fail before the median in the table.
TEST(FailureLaw, FailsThemAsLateAsTheTableSays) {
  const std::vector<Duration> times = many_run_times();
  Random random(3);
  const FailureLaw law(SizeClass::kOne, 0.2, times);
  std::map<Reason, std::vector<double>> minutes;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const auto reason = law.draw(i, random);
    if (!reason) continue;
    minutes[*reason].push_back(times[i].in_seconds() / 60 / tries_of(info_of(*reason)));
  }
  for (const Reason reason : {Reason::kCpuOutOfMemory, Reason::kIncorrectInputs,
                              Reason::kSyntaxError, Reason::kCheckpointError}) {
    std::vector<double>& sorted = minutes[reason];
    ASSERT_GT(sorted.size(), 100u);
    std::sort(sorted.begin(), sorted.end());
    const double ratio = sorted[sorted.size() / 2] / info_of(reason).p50;
    EXPECT_GT(ratio, 0.6) << info_of(reason).name;
    EXPECT_LT(ratio, 1.6) << info_of(reason).name;
  }
}

TEST(FailureLaw, TakesAnyRunTimes) {
  Random random(4);
  const std::vector<Duration> cases[] = {
      {Duration()},
      std::vector<Duration>(1000, Duration::seconds(36'000)),
      {Duration(), Duration::micros(1), kLongestDuration},
  };
  for (const std::vector<Duration>& times : cases) {
    const FailureLaw law(SizeClass::kMore, 0.5, times);
    int failed = 0;
    for (int i = 0; i < 3000; ++i) {
      failed += law.draw(static_cast<std::size_t>(i) % times.size(), random) ? 1 : 0;
    }
    EXPECT_NEAR(failed, 1500, 120);
  }
  const FailureLaw never(SizeClass::kOne, 0, cases[1]);
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(never.draw(0, random));
}

}  // namespace
}  // namespace muster
