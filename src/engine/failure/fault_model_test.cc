#include "engine/failure/fault_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/types/digest.h"
#include "engine/failure/testing.h"

namespace muster {
namespace {

using testing_failures::Life;
using testing_failures::live;
using testing_failures::philly_like;
using testing_failures::Sample;

const FaultModel& model() {
  static const FaultModel kModel(FaultOptions{}, 42);
  return kModel;
}

double minutes(Duration duration) { return duration.in_seconds() / 60; }

TEST(TimeToFailure, HasTheQuantilesOfTheTable) {
  for (const ReasonInfo& info : reasons()) {
    EXPECT_NEAR(minutes(time_to_failure(info.reason, 0)) / info.p50, 1, 1e-6) << info.name;
    EXPECT_NEAR(minutes(time_to_failure(info.reason, 1.2816)) / info.p90, 1, 1e-6) << info.name;
    EXPECT_NEAR(minutes(time_to_failure(info.reason, 1.6449)) / info.p95, 1, 1e-6) << info.name;
  }
}

// The study's column "RTF %": the share of each reason in the sum of all times to failure.
TEST(TimeToFailure, AddsUpToTheSharesOfTheStudy) {
  constexpr int kSteps = 2000;
  std::array<double, kReasonCount> sums = {};
  double all = 0;
  for (const ReasonInfo& info : reasons()) {
    double& sum = sums[static_cast<std::size_t>(info.reason)];
    for (int i = 0; i < kSteps; ++i) {  // Integrates the normal density from -5 to 5.
      const double z = -5 + 10 * (i + 0.5) / kSteps;
      sum += info.trials * std::exp(-z * z / 2) * minutes(time_to_failure(info.reason, z));
    }
    all += sum;
  }
  const auto share = [&](Reason reason) {
    return 100 * sums[static_cast<std::size_t>(reason)] / all;
  };
  EXPECT_NEAR(share(Reason::kIncorrectInputs), 30.43, 4);
  EXPECT_NEAR(share(Reason::kCheckpointError), 21.73, 4);
  EXPECT_NEAR(share(Reason::kMpiRuntimeFailure), 14.63, 4);
  EXPECT_NEAR(share(Reason::kSemanticError), 9.22, 4);
  EXPECT_NEAR(share(Reason::kCpuOutOfMemory), 6.62, 5);
  EXPECT_NEAR(share(Reason::kInvalidMemoryAccess), 3.82, 4);
  EXPECT_NEAR(share(Reason::kMpiError), 3.70, 4);
  EXPECT_NEAR(share(Reason::kCoreDump), 3.35, 4);
}

TEST(TimeToFailure, StaysWithinBoundsWhateverTheDraw) {
  EXPECT_EQ(time_to_failure(Reason::kTraceback, -1e6), Duration::micros(1));
  for (const ReasonInfo& info : reasons()) {
    EXPECT_LT(time_to_failure(info.reason, 1e6), Duration::seconds(16 * 86'400)) << info.name;
  }
}

TEST(FaultModel, IsTheSameEverywhere) {
  Digest digest;
  for (int job = 0; job < 2000; ++job) {
    for (int attempt = 0; attempt < 3; ++attempt) {
      const std::optional<InjectedFailure> trouble =
          model().trouble(JobId(job), 1 << job % 8, attempt);
      if (!trouble) continue;
      digest.add(static_cast<std::uint64_t>(trouble->reason));
      digest.add(trouble->after.us());
    }
  }
  EXPECT_EQ(digest.hex(), "f2d79fbcbfc5336a") << "a seed must keep its meaning";
}

TEST(FaultModel, DoesNotCareInWhatOrderItIsAsked) {
  constexpr int kJobs = 500;
  constexpr int kAttempts = 4;
  std::vector<std::optional<InjectedFailure>> forward;
  for (int job = 0; job < kJobs; ++job) {
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      forward.push_back(model().trouble(JobId(job), 8, attempt));
    }
  }
  const FaultModel other(FaultOptions{}, 42);
  const FaultModel another_seed(FaultOptions{}, 43);
  int same_by_another_seed = 0;
  for (int job = kJobs - 1; job >= 0; --job) {
    for (int attempt = kAttempts - 1; attempt >= 0; --attempt) {
      EXPECT_EQ(other.trouble(JobId(job), 8, attempt), forward.back());
      const std::optional<InjectedFailure> foreign = another_seed.trouble(JobId(job), 8, attempt);
      same_by_another_seed += foreign && foreign == forward.back() ? 1 : 0;
      forward.pop_back();
    }
  }
  EXPECT_EQ(same_by_another_seed, 0);
}

TEST(FaultModel, DoomsAJobToTheSameEndEveryTime) {
  int doomed = 0;
  int changing = 0;
  for (int job = 0; job < 2000; ++job) {
    const std::optional<InjectedFailure> first = model().trouble(JobId(job), 4, 0);
    const std::optional<InjectedFailure> later = model().trouble(JobId(job), 4, 7);
    const bool sticky = first && first->sticky;
    EXPECT_EQ(later && later->sticky, sticky);
    if (sticky) {
      EXPECT_EQ(later, first);
      ++doomed;
      EXPECT_NE(info_of(first->reason).nature, RetryClass::kPassing);
      EXPECT_NE(info_of(first->reason).nature, RetryClass::kNode);
    } else {
      changing += first != later ? 1 : 0;
      if (first) {
        EXPECT_FALSE(info_of(first->reason).deterministic());
      }
    }
  }
  EXPECT_NEAR(doomed, 2000 * model().doomed(4), 5 * std::sqrt(2000 * 0.2 * 0.8));
  EXPECT_GT(changing, 300) << "passing failures are drawn again for every attempt";
}

TEST(FaultModel, FailsADoomedJobAfterItsPlannedEnd) {
  int seen = 0;
  for (int job = 0; job < 500; ++job) {
    const std::optional<InjectedFailure> trouble = model().trouble(JobId(job), 8, 0);
    if (!trouble || !trouble->sticky) continue;
    ++seen;
    const Duration planned = Duration::micros(trouble->after.us() / 2);
    EXPECT_EQ(model().trouble(JobId(job), 8, 0, planned), trouble);
    EXPECT_EQ(model().trouble(JobId(job), 8, 3, planned), trouble);
    EXPECT_EQ(model().run_time(JobId(job), 8, planned), trouble->after);
    EXPECT_EQ(model().run_time(JobId(job), 8, trouble->after * 2), trouble->after * 2);
    EXPECT_FALSE(model().is_killed(JobId(job), 8, planned));
  }
  EXPECT_GT(seen, 60);
}

TEST(FaultModel, LengthensAJobWhoseFirstAttemptFailsLater) {
  int lengthened = 0;
  int killed = 0;
  for (int job = 0; job < 4000; ++job) {
    const JobId id(job);
    const std::optional<InjectedFailure> first = model().trouble(id, 8, 0);
    if (!first || first->sticky) continue;
    const Duration planned = Duration::micros(first->after.us() / 2);
    if (model().is_killed(id, 8, planned)) {
      ++killed;
      EXPECT_EQ(model().trouble(id, 8, 0, planned), std::nullopt) << "its user stops it before";
      EXPECT_EQ(model().run_time(id, 8, planned), planned);
      continue;
    }
    ++lengthened;
    EXPECT_EQ(model().trouble(id, 8, 0, planned), first);
    EXPECT_EQ(model().run_time(id, 8, planned), first->after);
    const std::optional<InjectedFailure> second = model().trouble(id, 8, 1);
    if (!second) continue;
    EXPECT_EQ(model().trouble(id, 8, 1, second->after), std::nullopt) << "a retry has less to do";
    EXPECT_EQ(model().trouble(id, 8, 1, second->after + Duration::micros(1)), second);
  }
  EXPECT_GT(lengthened, 500);
  EXPECT_GT(killed, 100);
}

TEST(KilledShare, GrowsWithTheRunTime) {
  EXPECT_DOUBLE_EQ(killed_share(Duration::seconds(60)), 0.13);
  EXPECT_DOUBLE_EQ(killed_share(Duration::seconds(3600)), 0.13);
  EXPECT_NEAR(killed_share(Duration::seconds(17'636)), 0.34,
              1e-4);  // In the middle of the logarithms.
  EXPECT_DOUBLE_EQ(killed_share(Duration::seconds(86'400)), 0.55);
  EXPECT_DOUBLE_EQ(killed_share(Duration::max()), 0.55);
}

TEST(FaultModel, KillsAsManyAsTheShareOfTheRunTime) {
  const FaultModel none(FaultOptions{.rate = 0}, 42);
  for (const Duration run_time : {Duration::seconds(600), Duration::seconds(200'000)}) {
    int killed = 0;
    for (int job = 0; job < 10'000; ++job) {
      killed += model().is_killed(JobId(job), 1, run_time) ? 1 : 0;
      EXPECT_FALSE(none.is_killed(JobId(job), 1, run_time));
    }
    const double share = killed_share(run_time) * (1 - model().doomed(1));
    EXPECT_NEAR(killed, 10'000 * share, 5 * std::sqrt(10'000 * share * (1 - share)));
  }
}

TEST(FaultModel, ScalesWithTheRate) {
  const FaultModel none(FaultOptions{.rate = 0}, 42);
  const FaultModel half(FaultOptions{.rate = 0.5}, 42);
  const FaultModel most(FaultOptions{.rate = 10}, 42);
  EXPECT_DOUBLE_EQ(half.doomed(8), model().doomed(8) / 2);
  EXPECT_LT(half.passing(8), model().passing(8));
  EXPECT_EQ(most.doomed(8), 1);
  int fewer = 0;
  for (int job = 0; job < 1000; ++job) {
    EXPECT_EQ(none.trouble(JobId(job), 8, 0), std::nullopt);
    const std::optional<InjectedFailure> few = half.trouble(JobId(job), 8, 0);
    const std::optional<InjectedFailure> many = model().trouble(JobId(job), 8, 0);
    if (few) {
      EXPECT_TRUE(many.has_value()) << "a higher rate removes no failure";
    }
    if (few && few->sticky) {
      EXPECT_EQ(few, many);
    }
    fewer += many && !few ? 1 : 0;
  }
  EXPECT_GT(fewer, 150);
}

TEST(FaultModel, RefusesRatesThatMeanNothing) {
  EXPECT_FALSE(check_options({.rate = 0}).has_value());
  EXPECT_FALSE(check_options({.rate = 10}).has_value());
  for (const double rate : {-0.1, 10.5, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_TRUE(check_options({.rate = rate}).has_value()) << rate;
  }
  EXPECT_EQ(check_options({.rate = 11})->message, "faults: the rate is not between 0 and 10: '11'");
}

TEST(FaultModel, FailsLargerJobsMoreOften) {
  for (std::int32_t gpus = 1; gpus < 10'000; ++gpus) {
    EXPECT_LE(model().doomed(gpus), model().doomed(gpus + 1)) << gpus;
    EXPECT_LE(model().passing(gpus), model().passing(gpus + 1)) << gpus;
    EXPECT_LT(model().doomed(gpus), model().doomed(2 * gpus)) << gpus;
    EXPECT_LT(model().passing(gpus), model().passing(2 * gpus)) << gpus;
  }
  EXPECT_LT(model().doomed(std::numeric_limits<std::int32_t>::max()), 1);
  EXPECT_NEAR(model().doomed(1), 0.171, 0.001);
  EXPECT_NEAR(model().doomed(4), 0.216, 0.001);
  EXPECT_NEAR(model().doomed(8), 0.220, 0.001);
  EXPECT_NEAR(model().doomed(128), 0.329, 0.001);
  EXPECT_NEAR(model().passing(1), 0.0860, 0.001);
  EXPECT_NEAR(model().passing(8), 0.346, 0.001);
}

struct Draws {
  std::array<std::vector<double>, kReasonCount> minutes;  // By reason.
  int count = 0;
};

Draws draw(std::int32_t gpus, bool sticky, int jobs) {
  Draws draws;
  for (int job = 0; job < jobs; ++job) {
    const std::optional<InjectedFailure> trouble = model().trouble(JobId(job), gpus, 0);
    if (!trouble || trouble->sticky != sticky) continue;
    draws.minutes[static_cast<std::size_t>(trouble->reason)].push_back(minutes(trouble->after));
    ++draws.count;
  }
  return draws;
}

double weight(const ReasonInfo& info, std::size_t size, bool sticky) {
  if (info.reason == Reason::kPreempted) return 0;
  const double dooming = info.deterministic() ? 1 : info.nature == RetryClass::kSuspect ? 0.75 : 0;
  return info.trials_by_size[size] * (sticky ? dooming : 1 - dooming);
}

class FaultDraws : public testing::TestWithParam<std::int32_t> {};

TEST_P(FaultDraws, FollowTheColumnForTheSize) {
  const auto size = static_cast<std::size_t>(size_class(GetParam()));
  for (const bool sticky : {false, true}) {
    const Draws draws = draw(GetParam(), sticky, 60'000);
    double sum = 0;
    for (const ReasonInfo& info : reasons()) sum += weight(info, size, sticky);
    ASSERT_GT(draws.count, 4000);
    for (const ReasonInfo& info : reasons()) {
      const double expected = weight(info, size, sticky) / sum * draws.count;
      const auto row = static_cast<std::size_t>(info.reason);
      EXPECT_NEAR(static_cast<double>(draws.minutes[row].size()), expected, 5 * std::sqrt(expected))
          << info.name << (sticky ? ", dooming" : ", passing");
    }
  }
}

TEST_P(FaultDraws, FailAfterTheTimesOfTheTable) {
  int compared = 0;
  for (const bool sticky : {false, true}) {
    Draws draws = draw(GetParam(), sticky, 60'000);
    for (const ReasonInfo& info : reasons()) {
      std::vector<double>& times = draws.minutes[static_cast<std::size_t>(info.reason)];
      const std::size_t n = times.size();
      if (n < 400) continue;
      std::sort(times.begin(), times.end());
      // Standard errors of quantiles of a normal: 1.25 and 1.71 sigma / sqrt(n). Within four.
      const double sigma = std::log(info.p90 / info.p50) / 1.2816;
      const double error = sigma / std::sqrt(static_cast<double>(n));
      EXPECT_NEAR(std::log(times[n / 2] / info.p50), 0, 4 * 1.25 * error) << info.name;
      EXPECT_NEAR(std::log(times[n * 9 / 10] / info.p90), 0, 4 * 1.71 * error) << info.name;
      ++compared;
    }
  }
  EXPECT_GE(compared, 7);
}
INSTANTIATE_TEST_SUITE_P(Sizes, FaultDraws, testing::Values(1, 4, 8));

TEST(FaultModel, IsCalibratedToPhilly) {
  const RetryPolicy three = RetryPolicy::fixed(3);
  constexpr int kJobs = 60'000;
  int unsuccessful = 0;
  int distributed = 0;
  int failed_attempts = 0;
  std::array<int, 9> jobs = {};
  std::array<int, 9> lost = {};
  for (const Sample& job : philly_like(kJobs, 1)) {
    const Life life = live(model(), three, job);
    const auto size = static_cast<std::size_t>(job.gpus);
    ++jobs[size];
    if (!life.finished) ++unsuccessful, ++lost[size];
    if (job.gpus < 2) continue;
    ++distributed;
    failed_attempts += static_cast<int>(life.failed.size());
  }
  const double share = 1.0 * unsuccessful / kJobs;
  const double failures = 1.0 * failed_attempts / distributed;
  RecordProperty("unsuccessful_share", std::to_string(share));
  RecordProperty("failed_attempts_a_distributed_job", std::to_string(failures));
  EXPECT_NEAR(share, 0.180, 0.008) << "Philly: 0.172";
  EXPECT_NEAR(failures, 1.07, 0.06) << "Philly: an average of one";
  const auto rate = [&](std::size_t size) { return 1.0 * lost[size] / jobs[size]; };
  RecordProperty(
      "unsuccessful_1_4_8_gpus",
      std::to_string(rate(1)) + " " + std::to_string(rate(4)) + " " + std::to_string(rate(8)));
  EXPECT_LT(rate(1) + 0.02, rate(4));
  EXPECT_LT(rate(1) + 0.03, rate(8));
}

}  // namespace
}  // namespace muster
