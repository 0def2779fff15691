#include "workload/history/trace_history.h"

#include <gtest/gtest.h>

#include "tests/philly_files.h"
#include "workload/history/testing.h"
#include "workload/philly/philly_log.h"
#include "workload/trace/reader.h"
#include "workload/trace/writer.h"

namespace muster {
namespace {

Trace small_trace() {
  return parse_trace(
             "job_id,vc,submit_time_s,num_gpus,duration_s\n7,vc1,10,2,100\n9,vc2,20,1,3.5\n",
             "trace.csv", "philly", ProfileTable())
      .value();
}

TEST(FromTrace, TellsWhatATraceTells) {
  const History history = from_trace(small_trace());
  EXPECT_EQ(history.source, "trace.csv");
  EXPECT_EQ(history.format, "philly");
  ASSERT_EQ(history.jobs.size(), 2u);
  const PastJob& job = history.jobs[1];
  EXPECT_EQ(names_of(history, job), "9 vc2  ");
  EXPECT_EQ(job.submit, Instant::at(Duration::seconds(20)));
  EXPECT_EQ(job.gpus, 1);
  EXPECT_EQ(job.run, Duration::micros(3'500'000));
  EXPECT_EQ(job.status, Status::kUnknown);
  EXPECT_TRUE(history.attempts_of(job).empty());
  const Knows& knows = history.knows;
  EXPECT_TRUE(knows.runs && knows.tenants);
  EXPECT_FALSE(knows.dates || knows.starts || knows.attempts || knows.hosts || knows.status);
  EXPECT_FALSE(knows.failures || knows.reasons || knows.users || knows.use);
}

TEST(ToTrace, UndoesFromTrace) {
  const Trace trace = small_trace();
  const Trace again = to_trace(from_trace(trace));
  EXPECT_EQ(again.jobs, trace.jobs);
  EXPECT_EQ(again.tenants, trace.tenants);
  EXPECT_EQ(again.notes, trace.notes);
}

History log_of(const std::string& jobs) {
  return parse_philly_log("[" + jobs + "]", "log").value();
}

std::string attempt(const std::string& start, const std::string& end) {
  return R"({"start_time":"2017-10-03 )" + start + R"(","end_time":"2017-10-03 )" + end +
         R"(","detail":[{"ip":"m1","gpus":["gpu0","gpu1"]}]})";
}

std::string job(const std::string& id, const std::string& attempts) {
  return R"({"submitted_time":"2017-10-03 00:00:00","user":"u","vc":"v","jobid":")" + id +
         R"(","attempts":[)" + attempts + "]}";
}

TEST(ToTrace, NeedsTheTimeOfAllAttempts) {
  const Trace trace = to_trace(
      log_of(job("a", attempt("01:00:00", "01:10:00") + "," + attempt("02:00:00", "02:00:05"))));
  ASSERT_EQ(trace.jobs.size(), 1u);
  EXPECT_EQ(trace.jobs[0].id, "a");
  EXPECT_EQ(trace.jobs[0].duration, Duration::seconds(605));
  EXPECT_EQ(trace.jobs[0].gpus, 2);
  EXPECT_EQ(trace.jobs[0].submit, Instant());  // Time 0 is the first job.
  EXPECT_EQ(trace.tenants[trace.jobs[0].tenant], "v");
  EXPECT_EQ(trace.users[trace.jobs[0].user], "u");
}

TEST(ToTrace, LeavesOutWhatCannotRun) {
  const std::string no_end = R"({"start_time":"2017-10-03 01:00:00","detail":[{"gpus":["gpu0"]}]})";
  const Trace trace = to_trace(log_of(job("a", "") + "," + job("b", no_end) + "," +
                                      job("c", attempt("01:00:00", "01:10:00"))));
  ASSERT_EQ(trace.jobs.size(), 1u);
  EXPECT_EQ(trace.jobs[0].id, "c");
  const auto noted = [&](std::string_view note) {
    return std::find(trace.notes.begin(), trace.notes.end(), note) != trace.notes.end();
  };
  EXPECT_TRUE(noted("1 job skipped: number of GPUs unknown"));
  EXPECT_TRUE(noted("1 job skipped: run time unknown"));
}

TEST(ToTrace, GivesEveryJobAnIdOfItsOwn) {
  const std::string run = attempt("01:00:00", "01:10:00");
  const Trace trace = to_trace(
      log_of(job("a", run) + "," + job("a", run) + "," + job("", run) + "," + job("a#2", run)));
  std::vector<std::string> ids;
  for (const TraceJob& made : trace.jobs) ids.push_back(made.id);
  EXPECT_EQ(ids, (std::vector<std::string>{"a", "a#2", "#3", "a#2#4"}));
  EXPECT_EQ(trace.notes.back(), "3 jobs renamed: id empty or not unique");
}

// The trace that `muster sim` reads from a file.
TEST(ToTrace, IsATraceThatReadsBack) {
  PhillyJobs options;
  options.jobs = 3000;
  const Trace trace = to_trace(parse_philly_log(written(write_philly_log, options), "log").value());
  EXPECT_GT(trace.jobs.size(), 2500u);
  const Result<Trace> again =
      parse_trace(write_trace_csv(trace), "trace.csv", "muster", ProfileTable());
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again.value().jobs.size(), trace.jobs.size());
  EXPECT_EQ(again.value().jobs.back().duration, trace.jobs.back().duration);
}

}  // namespace
}  // namespace muster
