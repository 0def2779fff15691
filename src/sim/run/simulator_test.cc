// Small scenes computed by hand. What holds for whole workloads is in tests/.

#include "sim/run/simulator.h"

#include <gtest/gtest.h>

#include <bit>
#include <initializer_list>
#include <string>

#include "base/types/random.h"

namespace muster {
namespace {

constexpr Instant at(std::int64_t seconds) { return Instant::at(Duration::seconds(seconds)); }
constexpr Duration sec(std::int64_t seconds) { return Duration::seconds(seconds); }
constexpr Overheads kFree = {Duration(), Duration(), Duration()};

struct Row {
  std::int64_t submit;
  std::int32_t gpus;
  std::int64_t duration;
  const char* model = "";
  const char* gpu_type = "";
  std::int64_t user_estimate = 0;
};

Trace trace_of(std::initializer_list<Row> rows) {
  Trace trace;
  for (const Row& row : rows) {
    TraceJob job;
    job.id = std::to_string(trace.jobs.size());
    job.submit = at(row.submit);
    job.gpus = row.gpus;
    job.duration = sec(row.duration);
    job.user_estimate = sec(row.user_estimate);
    job.model = trace.models.intern(row.model);
    job.gpu_type = trace.gpu_types.intern(row.gpu_type);
    trace.jobs.push_back(job);
  }
  return trace;
}

// Twice as fast with twice the CPUs of the reference share.
ProfileTable hungry_profiles() {
  ProfileTable table;
  Profile profile = Profile::matrix("hungry", {{3000, 6000}, {64000}, {1.0, 2.0}});
  profile.state_iteration_seconds(1.0);
  profile.state_ideal(6000, 64000, 2.0);
  EXPECT_TRUE(table.add(std::move(profile)).ok());
  return table;
}

SimResult run(const Trace& trace, const char* cluster, SimOptions options,
              const ProfileTable& profiles = hungry_profiles()) {
  options.history = true;
  options.check_invariants = true;
  return simulate(trace, parse_cluster_shorthand(cluster).value(), profiles, options);
}

SimOptions with(const char* policy, const char* mechanism = "proportional",
                const char* placement = "consolidate") {
  SimOptions options;
  options.parts = {policy, mechanism, placement};
  return options;
}

std::int64_t gpu_us_of_spans(const SimResult& result) {
  std::int64_t sum = 0;
  for (const LeaseSpan& span : result.spans) {
    sum += std::popcount(span.slots) * (span.end - span.begin).us();
  }
  return sum;
}

TEST(Simulator, PreemptionCostsACheckpointBeforeAndARestartAfter) {
  const SimResult result = run(trace_of({{0, 1, 1000}, {200, 1, 100}}), "1x1", with("srtf"));
  const JobOutcome& first = result.jobs[0];
  const JobOutcome& second = result.jobs[1];
  // Told to stop at 200, saved at 210; runs again from 310, makes progress from 330 with 800 left.
  EXPECT_EQ(first.start, at(0));
  EXPECT_EQ(first.end, at(1130));
  EXPECT_EQ(first.run, sec(210 + 820));
  EXPECT_EQ(first.wait(), sec(100));
  EXPECT_EQ(first.preemptions, 1);
  EXPECT_EQ(first.migrations, 0);
  EXPECT_EQ(second.start, at(210));
  EXPECT_EQ(second.end, at(310));
  EXPECT_EQ(second.wait(), sec(10));
  EXPECT_EQ(second.preemptions, 0);
  EXPECT_EQ(result.gpu_us, sec(1030 + 100).us());
  ASSERT_EQ(result.spans.size(), 3U);
  EXPECT_EQ(result.spans[0].end, at(210));
  EXPECT_EQ(result.spans[1].begin, at(210));
  EXPECT_EQ(result.spans[2].begin, at(310));
}

TEST(Simulator, PreemptionWithoutOverheadsLosesNothing) {
  SimOptions options = with("srtf");
  options.overheads = kFree;
  const SimResult result = run(trace_of({{0, 1, 1000}, {200, 1, 100}}), "1x1", options);
  EXPECT_EQ(result.jobs[1].end, at(300));
  EXPECT_EQ(result.jobs[0].end, at(1100));
  EXPECT_EQ(result.jobs[0].run, sec(1000));
  EXPECT_EQ(result.jobs[0].preemptions, 1);
}

TEST(Simulator, AJobStoppedWhileItLoadsHasWonNothing) {
  const Trace trace = trace_of({{0, 1, 1000}, {200, 1, 100}, {320, 1, 50}});
  const SimResult result = run(trace, "1x1", with("srtf"));
  // Loads from 310, is ordered to stop at 320, saves until 330, loads from 380, resumes at 400.
  EXPECT_EQ(result.jobs[2].start, at(330));
  EXPECT_EQ(result.jobs[2].end, at(380));
  EXPECT_EQ(result.jobs[0].end, at(1200));
  EXPECT_EQ(result.jobs[0].preemptions, 2);
  EXPECT_EQ(result.jobs[0].run, sec(210 + 20 + 820));
}

TEST(Simulator, MigrationCostsItsShareOnTop) {
  // One GPU is free on either server; the pair that comes at 100 wants both on one.
  const Trace trace = trace_of({{0, 1, 1000}, {0, 1, 10}, {0, 1, 1000}, {100, 2, 50}});
  const SimResult result = run(trace, "2x2", with("srtf", "proportional", "yarn"));
  const JobOutcome& moved = result.jobs[0];
  // Saves until 110, loads and moves until 140, has 900 left.
  EXPECT_EQ(moved.migrations, 1);
  EXPECT_EQ(moved.preemptions, 0);
  EXPECT_EQ(moved.end, at(1040));
  EXPECT_EQ(moved.wait(), Duration());
  EXPECT_EQ(result.jobs[2].migrations, 0);
  EXPECT_EQ(result.jobs[2].end, at(1000));
  EXPECT_EQ(result.jobs[3].start, at(110));
  EXPECT_EQ(result.jobs[3].end, at(160));
}

TEST(Simulator, OverheadsAreIgnoredWhereThePeerHasNone) {
  SimOptions options = with("srtf", "proportional", "count");
  options.compat = Compat::kTiresias;
  const SimResult result = run(trace_of({{0, 1, 1000}, {200, 1, 100}}), "1x1", options);
  EXPECT_EQ(result.jobs[0].end, at(1100));
}

TEST(Simulator, AResizeCostsNothingAndChangesTheSpeedAtOnce) {
  const Trace trace = trace_of({{0, 1, 1000, "hungry"}, {0, 1, 100, "hungry"}});
  const SimResult result = run(trace, "1x2", with("fifo", "tune"));
  // Side by side both have 3 CPUs; alone the first has 6: 900 left at twice the speed.
  EXPECT_EQ(result.jobs[1].end, at(100));
  EXPECT_EQ(result.jobs[0].end, at(550));
  EXPECT_EQ(result.jobs[0].preemptions + result.jobs[0].migrations, 0);
  EXPECT_EQ(result.jobs[0].run, sec(550));
  EXPECT_EQ(result.gpu_us, gpu_us_of_spans(result));
}

TEST(Simulator, EndsComeBeforeArrivalsOfTheSameInstant) {
  const SimResult result = run(trace_of({{0, 2, 100}, {100, 2, 5}}), "1x2", with("fifo"));
  EXPECT_EQ(result.jobs[0].end, at(100));
  EXPECT_EQ(result.jobs[1].start, at(100));
  EXPECT_EQ(result.jobs[1].wait(), Duration());
}

TEST(Simulator, AJobOfNoLengthStartsAndEndsAtOnceAndMakesRoom) {
  const Trace trace = trace_of({{5, 1, 0}, {5, 1, 0}, {5, 1, 7}});
  const SimResult result = run(trace, "1x1", with("fifo"));
  for (const std::size_t i : {0U, 1U}) {
    EXPECT_EQ(result.jobs[i].fate, JobResult::kFinished);
    EXPECT_EQ(result.jobs[i].start, at(5));
    EXPECT_EQ(result.jobs[i].end, at(5));
    EXPECT_EQ(result.jobs[i].run, Duration());
  }
  EXPECT_EQ(result.jobs[2].start, at(5));
  EXPECT_EQ(result.jobs[2].end, at(12));
  EXPECT_EQ(result.gpu_us, sec(7).us());
}

TEST(Simulator, InRoundsJobsStartAtRoundBeginsAndEndWhenTheyAreDone) {
  SimOptions options = with("fifo");
  options.round = sec(300);
  const SimResult result = run(trace_of({{0, 1, 50}, {10, 1, 100}, {20, 1, 400}}), "1x1", options);
  EXPECT_EQ(result.jobs[0].start, at(0));
  EXPECT_EQ(result.jobs[0].end, at(50));
  EXPECT_EQ(result.jobs[1].start, at(300));
  EXPECT_EQ(result.jobs[1].end, at(400));
  EXPECT_EQ(result.jobs[2].start, at(600));
  EXPECT_EQ(result.jobs[2].end, at(1000));
}

TEST(Simulator, LikeSynergyJobsEndAtRoundEndsOfARunThatBeginsAfterOneSecond) {
  SimOptions options = with("fifo", "proportional", "first-fit");
  options.compat = Compat::kSynergy;
  options.round = sec(300);
  Trace trace = trace_of({{0, 1, 350, "hungry"}, {0, 1, 10, "hungry"}});
  for (TraceJob& job : trace.jobs) job.iterations = job.duration.us() / 1'000'000;
  const SimResult result = run(trace, "1x1", options);
  EXPECT_EQ(result.jobs[0].start, at(1));
  EXPECT_EQ(result.jobs[0].end, at(601));
  EXPECT_EQ(result.jobs[1].end, at(901));
}

TEST(Simulator, JobsThatCanNeverRunAreNamedAndTheOthersGoOn) {
  const Trace trace = trace_of(
      {{0, 9, 5}, {0, 1, 5, "", "a100"}, {0, 5, 5, "", "v100"}, {0, 4, 5, "", "v100"}, {3, 2, 5}});
  const SimResult result = run(trace, "2x2,gpu=v100", with("fifo"));
  EXPECT_EQ(result.jobs[0].fate, JobResult::kRejected);
  EXPECT_EQ(result.jobs[0].why_rejected, "needs 9 GPUs, the cluster has 4");
  EXPECT_EQ(result.jobs[1].fate, JobResult::kRejected);
  EXPECT_EQ(result.jobs[1].why_rejected, "requests GPU type a100, which the cluster does not have");
  EXPECT_EQ(result.jobs[2].fate, JobResult::kRejected);
  EXPECT_EQ(result.jobs[2].why_rejected, "needs 5 GPUs of type v100, the cluster has 4");
  for (const std::size_t i : {0U, 1U, 2U}) {
    EXPECT_EQ(result.jobs[i].start, Instant::never());
    EXPECT_EQ(result.jobs[i].end, Instant::never());
  }
  EXPECT_EQ(result.jobs[3].end, at(5));
  EXPECT_EQ(result.jobs[4].end, at(10));
  EXPECT_FALSE(result.partial);
}

TEST(Simulator, AnInterruptedRunTellsWhatItKnowsSoFar) {
  Trace trace;
  for (int i = 0; i < 2000; ++i) {
    TraceJob job;
    job.id = std::to_string(i);
    job.submit = at(i);
    job.duration = sec(10);
    trace.jobs.push_back(job);
  }
  SimOptions options = with("fifo");
  std::size_t last_done = 0;
  int calls = 0;
  options.progress = [&](std::size_t done, std::size_t total) {
    EXPECT_GE(done, last_done);
    EXPECT_EQ(total, 2000U);
    last_done = done;
    return ++calls < 3;
  };
  const SimResult result = run(trace, "1x4", options);
  EXPECT_TRUE(result.partial);
  EXPECT_EQ(calls, 3);
  std::size_t finished = 0;
  std::int64_t held = 0;
  for (const JobOutcome& job : result.jobs) {
    finished += job.fate == JobResult::kFinished ? 1 : 0;
    held += job.run.us();
    if (job.fate == JobResult::kUnfinished) {
      EXPECT_EQ(job.end, Instant::never());
    }
  }
  EXPECT_EQ(finished, last_done);
  EXPECT_GT(finished, 0U);
  EXPECT_LT(finished, 2000U);
  EXPECT_EQ(result.gpu_us, held);  // Those still running count for what they held.
  EXPECT_EQ(result.gpu_us, gpu_us_of_spans(result));
}

TEST(Simulator, AnEmptyTraceIsOverAtOnce) {
  const SimResult result = run(Trace(), "1x1", with("fifo"));
  EXPECT_TRUE(result.jobs.empty());
  EXPECT_EQ(result.events, 0U);
  EXPECT_FALSE(result.partial);
}

TEST(Simulator, TheTimelineShowsTheClusterAfterEveryChange) {
  const SimResult result = run(trace_of({{0, 2, 10}, {5, 1, 10}}), "1x2", with("fifo"));
  ASSERT_EQ(result.timeline.size(), 4U);  // Two arrivals, two ends.
  EXPECT_EQ(result.timeline[0].busy_gpus, 2);
  EXPECT_EQ(result.timeline[0].cpu_milli, 6000);
  EXPECT_EQ(result.timeline[1].at, at(5));
  EXPECT_EQ(result.timeline[1].waiting, 1);
  EXPECT_EQ(result.timeline[2].at, at(10));
  EXPECT_EQ(result.timeline[2].busy_gpus, 1);
  EXPECT_EQ(result.timeline[2].waiting, 0);
  EXPECT_EQ(result.timeline[2].speed, 1.0);
  EXPECT_EQ(result.timeline[3].busy_gpus, 0);
}

TEST(Simulator, AnEstimateIsWhatItsSourceSays) {
  // The first job holds the GPU; of the others the shorter one says it is the longer.
  const Trace trace = trace_of({{0, 1, 10}, {1, 1, 50, "", "", 500}, {1, 1, 100, "", "", 20}});
  SimOptions options = with("sjf");
  EXPECT_EQ(run(trace, "1x1", options).jobs[1].start, at(10));
  options.estimates.kind = EstimateSource::Kind::kUser;
  EXPECT_EQ(run(trace, "1x1", options).jobs[2].start, at(10));
}

// At 1100 s, job 2 is the last in order but protected until 1300 s. Job 3 waits for it instead of
// stopping job 1, which would stop job 2 at 1300 s.
TEST(Simulator, AJobWaitsForTheProtectionOfTheLastJob) {
  SimOptions options = with("srtf");
  options.overheads = kFree;
  options.min_run = sec(300);
  const SimResult result =
      run(trace_of({{0, 1, 10000}, {0, 1, 5000}, {1000, 1, 8000}, {1100, 1, 100}}), "1x2", options);
  EXPECT_EQ(result.jobs[3].start, at(1300));
  EXPECT_EQ(result.jobs[0].preemptions, 1);
  EXPECT_EQ(result.jobs[1].preemptions, 0);
  EXPECT_EQ(result.jobs[2].preemptions, 1);
}

// Job 0 exceeds its estimate of one hour. At 4000 s it is expected to end at 8000 s, so job 2,
// which is estimated to run for an hour, must not overtake job 1. Under fit-first it does.
TEST(Simulator, BackfillReservesBehindAnOverdueJob) {
  const Trace trace = trace_of({{0, 5, 10000}, {4000, 6, 100}, {5000, 3, 100}});
  SimOptions options = with("backfill");
  options.estimates = {EstimateSource::Kind::kHistory, 0};
  options.overheads = kFree;
  const SimResult reserved = run(trace, "1x8", options);
  EXPECT_EQ(reserved.jobs[1].start, at(10000));
  EXPECT_EQ(reserved.jobs[2].start, at(10100)) << "after job 1";
  options.parts.policy = "fit-first";
  EXPECT_EQ(run(trace, "1x8", options).jobs[2].start, at(5000));
}

TEST(Simulator, TheSeedDecidesWhatIsRandomAndNothingElse) {
  Trace trace;
  Random random(5);
  for (int i = 0; i < 40; ++i) {
    TraceJob job;
    job.id = std::to_string(i);
    job.submit = at(i);
    job.gpus = static_cast<std::int32_t>(1 + random.below(4));
    job.duration = sec(static_cast<std::int64_t>(10 + random.below(200)));
    trace.jobs.push_back(job);
  }
  SimOptions options = with("sjf");
  SimOptions other = options;
  other.seed = 2;
  EXPECT_EQ(run(trace, "2x4", options).digest, run(trace, "2x4", other).digest);
  options.estimates = other.estimates = {EstimateSource::Kind::kNoisy, 1.0};
  EXPECT_NE(run(trace, "2x4", options).digest, run(trace, "2x4", other).digest);
  EXPECT_EQ(run(trace, "2x4", options).digest, run(trace, "2x4", options).digest);
}

}  // namespace
}  // namespace muster
