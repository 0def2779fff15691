#include "study/past/past_workload.h"

#include "sim/run/simulator.h"
#include "study/past/era.h"
#include "study/past/study_history.h"
#include "study/past/testing.h"
#include "study/past/what_if_page.h"

namespace muster {
namespace {

using whatif_testing::kBorn;
using whatif_testing::Office;

constexpr const char* kPlain = "scheduler: {policy: fifo, retry: 'fixed:2'}";

JobRequest workload_wants(int gpus) {
  JobRequest request;
  request.gpus = gpus;
  return request;
}

// One after the other on both GPUs; the second fails once, the third is cancelled while it runs,
// the fourth before it does, the fifth runs still and the sixth waits.
void live_through_workload(Office& office) {
  const LiveId first = office.submit(10, workload_wants(2));
  const LiveId second = office.submit(20, workload_wants(2), "bob");
  const LiveId third = office.submit(30, workload_wants(2));
  const LiveId fourth = office.submit(40, workload_wants(2));
  office.at(50, {CancelInput{fourth, "ann"}});
  office.ends(110, first, LeaseResult::kFinished);
  office.ends(140, second, LeaseResult::kFailed, "import-error");
  office.ends(200, second, LeaseResult::kFinished);
  office.at(260, {CancelInput{third, "ann"}});
  const LiveId fifth = office.submit(1100, workload_wants(2));
  office.submit(1110, workload_wants(1));
  office.at(1150, {SavedInput{fifth, 1}});
}

LiveHistory history_of(const Office& office) {
  return read_live_past(office.database()).value().history;
}

TEST(Workload, HoldsWhatRanAndSaysWhatDidNot) {
  Office office(kPlain);
  live_through_workload(office);
  const Workload workload = as_workload(history_of(office));
  ASSERT_EQ(workload.trace.jobs.size(), 4U);
  EXPECT_EQ(workload.trace.jobs[0].submit, Instant());  // Time begins with the first.
  EXPECT_EQ(workload.trace.jobs[1].submit, Instant::at(Duration::seconds(10)));
  EXPECT_EQ(workload.trace.users[workload.trace.jobs[1].user], "bob");
  EXPECT_EQ(workload.unfinished, std::vector<std::size_t>{3});
  const SimResult& happened = workload.happened;
  EXPECT_EQ(happened.jobs[0].jct(), Duration::seconds(100));
  EXPECT_EQ(happened.jobs[0].wait(), Duration());
  EXPECT_EQ(happened.jobs[1].failures, 1);
  EXPECT_EQ(happened.jobs[1].last_failure, Reason::kImportError);
  EXPECT_EQ(happened.jobs[3].fate, JobResult::kUnfinished);
  EXPECT_EQ(happened.jobs[3].run, Duration::seconds(50));
  std::int64_t gpu_us = 0;
  for (const JobOutcome& job : happened.jobs) gpu_us += job.gpu_us;
  EXPECT_EQ(happened.gpu_us, gpu_us);
  EXPECT_EQ(happened.timeline.back().running, 0);
  EXPECT_EQ(happened.timeline.front().at, Instant());
  const auto& notes = workload.trace.notes;
  const auto said = [&](const std::string& note) {
    return std::find(notes.begin(), notes.end(), note) != notes.end();
  };
  EXPECT_TRUE(said("1 job that ended without running: omitted"));
  EXPECT_TRUE(said("1 job still waiting and never run: omitted"));
}

// Jobs have a part of the reference share here, so their work is less than their time.
TEST(Workload, SimulatedUnderItsOwnSchedulerTakesAsLong) {
  Office office(kPlain);
  const LiveId first = office.submit(0, workload_wants(1));
  const LiveId second = office.submit(1, workload_wants(2));
  const LiveId third = office.submit(2, workload_wants(1));
  office.ends(60, first, LeaseResult::kFinished);
  office.ends(100, second, LeaseResult::kFinished);
  office.ends(130, third, LeaseResult::kFinished);
  const LiveHistory history = history_of(office);
  const Workload workload = as_workload(history);
  EXPECT_LT(workload.trace.jobs[0].duration, Duration::seconds(60));
  SimOptions options;
  options.overheads = no_overheads();
  const SimResult result =
      simulate(workload.trace, history.settings.topology, history.settings.profiles, options);
  for (std::size_t i = 0; i < result.jobs.size(); ++i) {
    EXPECT_NEAR(result.jobs[i].jct().in_seconds(), workload.happened.jobs[i].jct().in_seconds(),
                0.01)
        << i;
  }
}

TEST(Workload, WhatWasNotOverCountsNowhere) {
  Office office(kPlain);
  live_through_workload(office);
  const Workload workload = as_workload(history_of(office));
  SimResult simulated = workload.happened;
  simulated.jobs[3].fate = JobResult::kFinished;
  simulated.jobs[3].end = Instant();
  leave_unfinished(workload, simulated);
  EXPECT_EQ(simulated.jobs[3].fate, JobResult::kUnfinished);
  EXPECT_EQ(simulated.jobs[2].fate, JobResult::kFinished);
}

TEST(WhatIfPage, AnswersInItsFirstLine) {
  Office office(kPlain);
  live_through_workload(office);
  const LiveHistory history = history_of(office);
  const Workload workload = as_workload(history);
  SimResult better = workload.happened;
  for (JobOutcome& job : better.jobs) {
    if (job.fate == JobResult::kFinished) job.end = job.submit + job.run;
  }
  const auto run = [&](const char* name, const SimResult& result) {
    return WhatIfRun{name, summarize(result, history.settings.topology), &result};
  };
  const WhatIfRun other = run("tiresias", better);
  const WhatIfRun same = run("same scheduler", workload.happened);
  const Page page =
      what_if_page(workload, run("as it happened", workload.happened), same, std::span(&other, 1));
  check_page(page);
  EXPECT_TRUE(page.title.starts_with(
      "under tiresias the mean wait of 3 jobs would have been 0.00 s instead of "))
      << page.title;
  EXPECT_LT(page.title.size(), 120U);
  ASSERT_EQ(page.sections.size(), 4U);
  EXPECT_EQ(page.sections[0].tables[0].rows.size(), 3U);
  EXPECT_EQ(page.sections[1].key, "distributions");
  EXPECT_TRUE(page.sections[2].findings[0].starts_with("Of 3 jobs, 2 would finish earlier"))
      << page.sections[2].findings[0];
  EXPECT_EQ(page.sections[3].key, "over-time");
}

TEST(StudyHistory, TellsAttemptsReasonsAndEnds) {
  Office office(kPlain);
  live_through_workload(office);
  const History history = as_history(history_of(office));
  ASSERT_EQ(history.jobs.size(), 6U);
  EXPECT_TRUE(history.knows.dates && history.knows.slots && history.knows.reasons);
  EXPECT_FALSE(history.knows.use || history.knows.waits || history.knows.lost);
  EXPECT_EQ(history.gpus, 2);
  const PastJob& second = history.jobs[1];
  EXPECT_EQ(second.submit, Instant::micros(kBorn + 20'000'000));
  EXPECT_EQ(second.status, Status::kPassed);
  EXPECT_EQ(second.failures, 1);
  ASSERT_EQ(second.attempt_count, 2U);
  EXPECT_EQ(history.attempts_of(second)[0].reason, Reason::kImportError);
  EXPECT_FALSE(history.attempts_of(second)[1].resumed) << "the one before failed";
  EXPECT_EQ(history.hosts_of(history.attempts_of(second)[0])[0].gpus, 3U);
  EXPECT_EQ(history.jobs[3].status, Status::kKilled);
  EXPECT_EQ(history.jobs[3].attempt_count, 0U);
  EXPECT_EQ(history.jobs[4].status, Status::kUnknown);
}

}  // namespace
}  // namespace muster
