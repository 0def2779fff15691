// Converts a log to a trace, simulates it and reads the output as a history. The history must match
// the simulation.

#include <gtest/gtest.h>

#include <bit>
#include <filesystem>
#include <string>

#include "philly_files.h"
#include "sim/results/result_files.h"
#include "sim/results/summary.h"
#include "sim/run/simulator.h"
#include "workload/history/run_history.h"
#include "workload/history/trace_history.h"
#include "workload/input/profiles_file.h"
#include "workload/philly/philly_log.h"

namespace muster {
namespace {

Trace philly_trace(std::int64_t jobs) {
  PhillyJobs options;
  options.jobs = jobs;
  return to_trace(parse_philly_log(written(write_philly_log, options), "log").value());
}

Status status_of(JobResult fate) {
  if (fate == JobResult::kFinished) return Status::kPassed;
  if (fate == JobResult::kKilled) return Status::kKilled;
  return fate == JobResult::kFailed ? Status::kFailed : Status::kUnknown;
}

void expect_attempts(const History& history, const PastJob& job, const JobOutcome& outcome) {
  const auto attempts = history.attempts_of(job);
  EXPECT_EQ(attempts.size(),
            outcome.start == Instant::never()
                ? 0u
                : static_cast<std::size_t>(outcome.preemptions + outcome.failures +
                                           outcome.migrations + (job.status != Status::kFailed)));
  if (attempts.empty()) return;
  EXPECT_EQ(attempts.front().start, outcome.start);
  EXPECT_EQ(attempts.back().end, outcome.end);
  EXPECT_EQ(attempts.back().failed, job.status == Status::kFailed);
  EXPECT_EQ(attempts.back().reason,
            job.status == Status::kFailed ? outcome.last_failure : std::nullopt);
  Duration held;
  for (const Attempt& attempt : attempts) {
    held += attempt.run;
    std::int32_t gpus = 0;
    for (const HostShare& share : history.hosts_of(attempt)) gpus += std::popcount(share.gpus);
    EXPECT_EQ(gpus, job.gpus);
  }
  EXPECT_EQ(held, outcome.run);
}

TEST(RunHistory, ReadsBackWhatWasSimulated) {
  const Trace trace = philly_trace(2000);
  const Topology topology = parse_cluster_shorthand("4x8").value();
  SimOptions options;
  options.parts.policy = "las";
  options.failures.faults.rate = 1;
  options.history = true;
  const SimResult result = simulate(trace, topology, builtin_profiles(), options);

  const std::filesystem::path dir =
      std::filesystem::path(testing::TempDir()) / "muster_run_history_test";
  RunLabel label;
  label.policy = "las";
  label.mechanism = "proportional";
  label.placement = "consolidate";
  const MaybeError refusal =
      write_run(dir.string(), result, summarize(result, topology), label, trace, topology);
  ASSERT_FALSE(refusal) << refusal->message;
  const Result<History> read = from_run(dir.string());
  std::filesystem::remove_all(dir);
  ASSERT_TRUE(read.ok()) << read.error().message;
  const History& history = read.value();

  EXPECT_EQ(history.source, dir.string() + " (las, proportional, consolidate)");
  ASSERT_EQ(history.jobs.size(), trace.jobs.size());
  std::int64_t failed = 0;
  std::int64_t killed = 0;
  std::int64_t stops = 0;
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    const PastJob& job = history.jobs[i];
    const JobOutcome& outcome = result.jobs[i];
    ASSERT_EQ(history.ids[job.id], trace.jobs[i].id);
    EXPECT_EQ(history.tenants[job.tenant], trace.tenants[trace.jobs[i].tenant]);
    EXPECT_EQ(history.users[job.user], trace.users[trace.jobs[i].user]);
    EXPECT_EQ(job.submit, outcome.submit);
    EXPECT_EQ(job.gpus, trace.jobs[i].gpus);
    EXPECT_EQ(job.run, outcome.run);
    EXPECT_EQ(job.failures, outcome.failures);
    EXPECT_EQ(job.status, status_of(outcome.fate));
    failed += job.status == Status::kFailed ? 1 : 0;
    killed += job.status == Status::kKilled ? 1 : 0;
    EXPECT_EQ(job.lost_gpu_us, outcome.lost_gpu_us);
    expect_attempts(history, job, outcome);
    stops += outcome.preemptions;
  }
  EXPECT_GT(stops, 0);
  EXPECT_GT(failed, 0);
  EXPECT_GT(killed, 0);
}

}  // namespace
}  // namespace muster
