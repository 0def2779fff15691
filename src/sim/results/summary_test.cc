#include "sim/results/summary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/types/random.h"

namespace muster {
namespace {

Topology cluster(std::int32_t gpus) {
  Topology topology;
  EXPECT_FALSE(topology.add_node("s0", "r0", "v100", {gpus, 24'000, 512'000, 0}));
  return topology;
}

JobOutcome finished(std::int64_t submit_us, std::int64_t wait_us, std::int64_t run_us) {
  JobOutcome job;
  job.fate = JobResult::kFinished;
  job.submit = job.queued = Instant::micros(submit_us);
  job.start = Instant::micros(submit_us + wait_us);
  job.end = Instant::micros(submit_us + wait_us + run_us);
  job.run = Duration::micros(run_us);
  job.gpus = 1;
  return job;
}

SimResult with_jcts(const std::vector<std::int64_t>& jcts_us) {
  SimResult result;
  for (const std::int64_t jct : jcts_us) result.jobs.push_back(finished(0, 0, jct));
  return result;
}

std::int64_t median_us(const std::vector<std::int64_t>& jcts_us) {
  return summarize(with_jcts(jcts_us), cluster(1)).jct.p50.us();
}

TEST(Summary, OfNothingIsZero) {
  const Summary summary = summarize(SimResult(), cluster(8));
  EXPECT_EQ(summary.jobs, 0u);
  EXPECT_EQ(summary.finished, 0u);
  EXPECT_EQ(summary.jct.mean, Duration());
  EXPECT_EQ(summary.wait.p99, Duration());
  EXPECT_EQ(summary.makespan, Duration());
  EXPECT_EQ(summary.gpu_utilization, 0);
  EXPECT_EQ(summary.digest, "0000000000000000");
}

TEST(Summary, MedianIsTheMiddleOrTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(median_us({7}), 7);
  EXPECT_EQ(median_us({30, 10, 20}), 20);
  EXPECT_EQ(median_us({40, 10, 20, 30}), 25);
  EXPECT_EQ(median_us({1, 2}), 2);  // 1.5, and halves go up.
}

TEST(Summary, MeanIsRoundedToTheNearestMicrosecond) {
  EXPECT_EQ(summarize(with_jcts({1, 1, 2}), cluster(1)).jct.mean.us(), 1);
  EXPECT_EQ(summarize(with_jcts({1, 2, 2}), cluster(1)).jct.mean.us(), 2);
}

TEST(Summary, SumsThatDoNotFitIn64BitsStillHaveAMean) {
  const std::int64_t longest = kLongestDuration.us();
  const Summary summary = summarize(with_jcts(std::vector<std::int64_t>(300, longest)), cluster(1));
  EXPECT_EQ(summary.jct.mean.us(), longest);
  EXPECT_EQ(summary.jct.p50.us(), longest);
}

TEST(Summary, PercentilesAgreeWithTheNaiveDefinition) {
  Random random(20);
  for (int round = 0; round < 300; ++round) {
    const std::size_t n = 1 + random.below(400);
    std::vector<std::int64_t> values;
    for (std::size_t i = 0; i < n; ++i) {
      values.push_back(static_cast<std::int64_t>(random.below(round % 2 == 0 ? 20 : 1'000'000)));
    }
    const Summary summary = summarize(with_jcts(values), cluster(1));
    std::sort(values.begin(), values.end());
    const auto at = [&](double p) {
      return values[static_cast<std::size_t>(std::floor(p * static_cast<double>(n)))];
    };
    EXPECT_EQ(summary.jct.p95.us(), at(0.95)) << n;
    EXPECT_EQ(summary.jct.p99.us(), at(0.99)) << n;
    const std::int64_t twice = n % 2 == 1 ? 2 * values[n / 2] : values[n / 2 - 1] + values[n / 2];
    EXPECT_EQ(summary.jct.p50.us(), (twice + 1) / 2) << n;
    double sum = 0;
    for (const std::int64_t value : values) sum += static_cast<double>(value);
    EXPECT_NEAR(static_cast<double>(summary.jct.mean.us()), sum / static_cast<double>(n), 0.501);
  }
}

TEST(Summary, CountsFatesAndAddsUpTheRun) {
  SimResult result;
  result.jobs = {finished(2'000'000, 0, 10'000'000), finished(4'000'000, 6'000'000, 4'000'000)};
  result.jobs[0].preemptions = 2;
  result.jobs[1].migrations = 3;
  JobOutcome too_big;
  too_big.fate = JobResult::kRejected;
  too_big.why_rejected = "wants 99 GPUs, the cluster has 2";
  too_big.submit = Instant::micros(4'000'000);
  result.jobs.push_back(too_big);
  result.jobs.push_back(finished(4'000'000, 0, 4'000'000));
  result.jobs.back().fate = JobResult::kKilled;
  result.jobs.push_back(JobOutcome());
  result.jobs.back().submit = Instant::micros(4'000'000);
  result.gpu_us = 14'000'000;
  result.events = 5;
  result.decisions = 6;
  result.rounds = 7;
  result.digest = 0xabcdef;

  const Summary summary = summarize(result, cluster(2));
  EXPECT_FALSE(summary.window);
  EXPECT_EQ(summary.jobs, 5u);
  EXPECT_EQ(summary.finished, 2u);
  EXPECT_EQ(summary.killed, 1u);
  EXPECT_EQ(summary.rejected, 1u);
  EXPECT_EQ(summary.unfinished, 1u);
  EXPECT_EQ(summary.first_rejection, "wants 99 GPUs, the cluster has 2");
  EXPECT_EQ(summary.jct.mean, Duration::seconds(10));
  EXPECT_EQ(summary.wait.mean, Duration::seconds(3));
  EXPECT_EQ(summary.wait.p99, Duration::seconds(6));
  EXPECT_EQ(summary.makespan, Duration::seconds(12));
  EXPECT_EQ(summary.gpu_time, Duration::seconds(14));
  EXPECT_DOUBLE_EQ(summary.gpu_utilization, 14.0 / 24.0);
  EXPECT_EQ(summary.preemptions, 2u);
  EXPECT_EQ(summary.migrations, 3u);
  EXPECT_EQ(summary.events, 5u);
  EXPECT_EQ(summary.decisions, 6u);
  EXPECT_EQ(summary.rounds, 7u);
  EXPECT_EQ(summary.digest, "0000000000abcdef");
  EXPECT_FALSE(summary.partial);
}

TEST(Summary, AWindowLimitsTheStatisticsButNotTheRun) {
  SimResult result;
  for (std::int64_t i = 0; i < 10; ++i) {
    result.jobs.push_back(finished(i * 1'000'000, 0, (i + 1) * 1'000'000));
    result.jobs.back().preemptions = 1;
  }
  const Summary all = summarize(result, cluster(1));
  const Summary middle = summarize(result, cluster(1), Window{3, 6});
  EXPECT_EQ(middle.jobs, 3u);
  EXPECT_EQ(middle.finished, 3u);
  EXPECT_EQ(middle.jct.mean, Duration::seconds(5));
  EXPECT_EQ(middle.jct.p50, Duration::seconds(5));
  EXPECT_EQ(middle.jct.p99, Duration::seconds(6));
  EXPECT_EQ(middle.makespan, all.makespan);
  EXPECT_EQ(middle.preemptions, 10u);
}

TEST(Summary, AWindowIsCutToTheJobsThereAre) {
  const SimResult result = with_jcts({1, 2, 3});
  const Summary over = summarize(result, cluster(1), Window{2, 99});
  EXPECT_EQ(over.window->first, 2u);
  EXPECT_EQ(over.window->last, 3u);
  EXPECT_EQ(over.jct.mean.us(), 3);
  EXPECT_EQ(summarize(result, cluster(1), Window{50, 99}).jobs, 0u);
  EXPECT_EQ(summarize(result, cluster(1), Window{2, 1}).jobs, 0u);
  EXPECT_EQ(summarize(result, cluster(1), Window{0, 3}).jobs, 3u);
}

// The second job fails in its pre-run, the third leaves its pre-run at 30 and then waits until 50.
TEST(Summary, JobsInAPreRunAreNotOvertaken) {
  SimResult result;
  result.jobs = {finished(0, 0, 100), finished(5, 0, 20), finished(5, 45, 100), finished(10, 0, 9),
                 finished(40, 0, 9)};
  result.jobs[1].fate = JobResult::kFailed;
  result.jobs[1].start = result.jobs[1].queued = Instant::never();
  result.jobs[1].gpus = result.jobs[2].gpus = 4;
  result.jobs[2].queued = Instant::micros(30);
  result.free = {{Instant::micros(0), 0}};
  const OvertakingResult found = summarize(result, cluster(8)).waiting.overtaking;
  EXPECT_EQ(found.starts, 4u);
  EXPECT_EQ(found.total, (OvertakingCount{1, 0}))
      << "only the last job overtakes, namely the third";
}

TEST(Summary, AnInterruptedRunUsesNoMoreGpusThanThereAre) {
  SimResult result;
  result.partial = true;
  result.jobs.push_back(finished(0, 0, 1'000'000));
  JobOutcome running;  // Still at it when the run was interrupted after 100 s.
  running.start = Instant::micros(0);
  running.run = Duration::seconds(100);
  result.jobs.push_back(running);
  result.gpu_us = 101'000'000;
  const Summary summary = summarize(result, cluster(2));
  EXPECT_TRUE(summary.partial);
  EXPECT_EQ(summary.makespan, Duration::seconds(1));
  EXPECT_DOUBLE_EQ(summary.gpu_utilization, 101.0 / 200.0);
}

}  // namespace
}  // namespace muster
