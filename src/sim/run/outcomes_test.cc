// The outcomes of jobs with injected failures: passed, killed by the user, or failed.

#include <gtest/gtest.h>

#include <string>

#include "sim/run/simulator.h"

namespace muster {
namespace {

constexpr std::int64_t kPlanned = 20'000;  // Seconds.

Trace equal_jobs(int jobs, const char* model = "") {
  Trace trace;
  for (int i = 0; i < jobs; ++i) {
    TraceJob job;
    job.id = std::to_string(i);
    job.gpus = 1;
    job.duration = Duration::seconds(kPlanned);
    job.model = trace.models.intern(model);
    trace.jobs.push_back(job);
  }
  return trace;
}

// No overheads, so run times are as the fault model draws them.
SimOptions failing() {
  SimOptions options;
  options.overheads = {Duration(), Duration(), Duration()};
  options.failures.faults.rate = 1;
  options.history = true;
  options.check_invariants = true;
  options.seed = 3;
  options.retry = RetryPolicy::fixed(3);
  return options;
}

SimResult run(const Trace& trace, const SimOptions& options, const char* cluster = "50x8",
              const ProfileTable& profiles = ProfileTable()) {
  return simulate(trace, parse_cluster_shorthand(cluster).value(), profiles, options);
}

TEST(Outcomes, AreAsTheFaultModelDrawsThem) {
  const Trace trace = equal_jobs(400);
  const SimOptions options = failing();
  const SimResult result = run(trace, options);
  const FaultModel model(options.failures.faults, options.seed);
  const Duration planned = Duration::seconds(kPlanned);
  int failed = 0, killed = 0, longer = 0;
  for (std::size_t i = 0; i < result.jobs.size(); ++i) {
    SCOPED_TRACE(i);
    const JobOutcome& job = result.jobs[i];
    const std::optional<InjectedFailure> first = model.trouble(JobId(i), 1, 0, planned);
    if (first && first->sticky) {
      ++failed;
      longer += first->after > planned ? 1 : 0;
      EXPECT_EQ(job.fate, JobResult::kFailed);
      EXPECT_EQ(job.failures, 4);
      EXPECT_EQ(job.run, first->after * 4);
      EXPECT_EQ(job.lost_gpu_us, job.gpu_us);
      continue;
    }
    const bool kill = model.is_killed(JobId(i), 1, planned);
    killed += kill ? 1 : 0;
    EXPECT_EQ(job.fate, kill ? JobResult::kKilled : JobResult::kFinished);
    EXPECT_EQ(job.failures > 0, first.has_value());
    EXPECT_EQ(job.run, model.run_time(JobId(i), 1, planned) + Duration::micros(job.lost_gpu_us));
    if (!first) {
      EXPECT_EQ(job.run, planned);
      continue;
    }
    longer += first->after > planned ? 1 : 0;
  }
  EXPECT_GT(failed, 40);
  EXPECT_GT(killed, 40);
  EXPECT_GT(longer, 5);
}

TEST(Outcomes, KilledJobsEndTheirLeaseAndFreeTheGpus) {
  Trace trace = equal_jobs(60);
  const SimOptions options = failing();
  const SimResult result = run(trace, options, "1x1");  // One after the other.
  int killed = 0;
  for (const LeaseSpan& span : result.spans) {
    const JobOutcome& job = result.jobs[span.job.index()];
    EXPECT_EQ(span.ended == SpanEnd::kKilled,
              job.fate == JobResult::kKilled && span.end == job.end);
    if (span.ended != SpanEnd::kKilled) continue;
    ++killed;
    EXPECT_EQ(job.preemptions, 0);
  }
  EXPECT_GT(killed, 5);
  for (const JobOutcome& job : result.jobs) {
    EXPECT_TRUE(job.has_ended());
    Duration waited;
    for (const Duration part : job.waiting.by_cause) waited += part;
    EXPECT_EQ(waited, job.wait());
  }
  std::int64_t sum = 0;
  for (const JobOutcome& job : result.jobs) sum += job.run.us();
  EXPECT_EQ(result.gpu_us, sum) << "the GPU is never idle before the last end";
}

// Times to failure are like run times: a job with twice the speed fails in half the time.
TEST(Outcomes, AFasterJobFailsSooner) {
  ProfileTable profiles;
  ASSERT_TRUE(profiles.add(Profile::matrix("hungry", {{3000, 6000}, {64000}, {1.0, 2.0}})).ok());
  SimOptions options = failing();
  options.retry = RetryPolicy::none();
  int seen = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    options.seed = seed;
    options.parts.mechanism = "proportional";
    const SimResult slow = run(equal_jobs(1, "hungry"), options, "1x2", profiles);
    options.parts.mechanism = "tune";
    const SimResult fast = run(equal_jobs(1, "hungry"), options, "1x2", profiles);
    EXPECT_EQ(fast.jobs[0].fate, slow.jobs[0].fate) << seed;
    EXPECT_NEAR(2 * fast.jobs[0].run.in_seconds(), slow.jobs[0].run.in_seconds(), 1e-3) << seed;
    seen += slow.jobs[0].fate == JobResult::kFailed ? 1 : 0;
  }
  EXPECT_GT(seen, 2);
}

}  // namespace
}  // namespace muster
