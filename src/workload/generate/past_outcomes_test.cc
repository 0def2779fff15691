#include "workload/generate/past_outcomes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/types/digest.h"
#include "workload/generate/philly_like.h"

namespace muster {
namespace {

Trace philly_like(std::int64_t jobs) {
  PhillyLikeOptions options;
  options.jobs = jobs;
  return generate_philly_like(options).value();
}

std::int64_t failures_of(const PastOutcome& outcome) {
  return std::count_if(outcome.attempts.begin(), outcome.attempts.end(),
                       [](const PastAttempt& attempt) { return attempt.failed_of.has_value(); });
}

// The digest must be the same with every compiler and machine.
TEST(Past, IsTheSameEverywhere) {
  const Trace trace = philly_like(2000);
  Digest digest;
  digest.add(write_past_csv(trace, draw_past(trace, 1)));
  EXPECT_EQ(digest.hex(), "c0f1934ae25faae9");
  EXPECT_NE(draw_past(trace, 1), draw_past(trace, 2));
}

TEST(Past, AddsUp) {
  const Trace trace = philly_like(20'000);
  const std::vector<PastOutcome> past = draw_past(trace, 1);
  ASSERT_EQ(past.size(), trace.jobs.size());
  for (std::size_t i = 0; i < past.size(); ++i) {
    Duration sum;
    for (const PastAttempt& attempt : past[i].attempts) {
      ASSERT_GT(attempt.run_time, Duration());
      sum += attempt.run_time;
    }
    ASSERT_EQ(sum, trace.jobs[i].duration);
    const bool failed = past[i].status == PastStatus::kFailed;
    ASSERT_EQ(past[i].attempts.back().failed_of.has_value(), failed);
    ASSERT_EQ(failures_of(past[i]),
              static_cast<std::int64_t>(past[i].attempts.size()) - (failed ? 0 : 1));
  }
}

// Jeon et al., ATC 2019: 69.3% of jobs passed, 13.5% were killed, 17.2% failed; 39,776 failed
// attempts of 96,260 jobs; "an average of one failure" for jobs of several GPUs.
TEST(Past, IsAsThePublishedOne) {
  const Trace trace = philly_like(82'247);
  const std::vector<PastOutcome> past = draw_past(trace, 1);
  std::map<PastStatus, double> jobs;
  std::map<PastStatus, double> hours;
  double all_hours = 0;
  double trials = 0;
  double gangs = 0;
  double gang_trials = 0;
  for (std::size_t i = 0; i < past.size(); ++i) {
    const TraceJob& job = trace.jobs[i];
    jobs[past[i].status] += 100.0 / static_cast<double>(past.size());
    hours[past[i].status] += job.gpus * job.duration.in_hours();
    all_hours += job.gpus * job.duration.in_hours();
    const auto failures = static_cast<double>(failures_of(past[i]));
    trials += failures / static_cast<double>(past.size());
    gangs += job.gpus > 1 ? 1 : 0;
    gang_trials += job.gpus > 1 ? failures : 0;
  }
  EXPECT_NEAR(jobs[PastStatus::kPassed], 69.3, 1);
  EXPECT_NEAR(jobs[PastStatus::kKilled], 13.5, 1);
  EXPECT_NEAR(jobs[PastStatus::kFailed], 17.2, 0.5);
  EXPECT_NEAR(trials, 39'776 / 96'260.0, 0.02);
  EXPECT_NEAR(gang_trials / gangs, 1, 0.1);
  // Jobs that do not succeed use at least half of the GPU time.
  EXPECT_LT(hours[PastStatus::kPassed] / all_hours, 0.5);
  EXPECT_GT(hours[PastStatus::kKilled] / all_hours, 0.25);
}

TEST(Past, FailsLargeJobsMoreOften) {
  const Trace trace = philly_like(82'247);
  const std::vector<PastOutcome> past = draw_past(trace, 1);
  std::map<std::int32_t, std::array<double, 2>>
      jobs;  // By size: number of all jobs, and of failed jobs.
  for (std::size_t i = 0; i < past.size(); ++i) {
    ++jobs[trace.jobs[i].gpus][0];
    jobs[trace.jobs[i].gpus][1] += past[i].status == PastStatus::kFailed ? 1 : 0;
  }
  EXPECT_NEAR(jobs[1][1] / jobs[1][0], 0.152, 0.01);
  EXPECT_NEAR(jobs[8][1] / jobs[8][0], 0.49, 0.04);
}

TEST(Past, WritesOneLineAJob) {
  Trace trace;
  for (const char* const id : {"a", "b,c", "d"}) trace.jobs.emplace_back().id = id;
  const std::vector<PastOutcome> past = {
      {PastStatus::kPassed, {{Duration::seconds(60), std::nullopt}}},
      {PastStatus::kKilled,
       {{Duration::seconds(5), Reason::kMpiError}, {Duration::micros(1'500'000), std::nullopt}}},
      {PastStatus::kFailed,
       {{Duration::seconds(7), Reason::kSyntaxError},
        {Duration::seconds(8), Reason::kSyntaxError}}},
  };
  EXPECT_EQ(write_past_csv(trace, past),
            "job_id,status,attempts,run_s,reasons\n"
            "a,passed,1,60,\n"
            "\"b,c\",killed,2,5;1.5,mpi-error\n"
            "d,failed,2,7;8,syntax-error;syntax-error\n");
}

TEST(Past, TakesAnyTrace) {
  EXPECT_TRUE(draw_past(Trace(), 1).empty());
  Trace trace;
  for (int i = 0; i < 500; ++i) {
    TraceJob& job = trace.jobs.emplace_back();
    job.gpus = 1 + i % 200;
    job.duration = Duration::micros(i % 3 == 0 ? 0 : i * 777);
  }
  for (const PastOutcome& outcome : draw_past(trace, 1)) EXPECT_FALSE(outcome.attempts.empty());
}

}  // namespace
}  // namespace muster
