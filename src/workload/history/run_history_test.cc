// Tests with handmade files; tests/run_history_test.cc reads the output of a simulation.

#include "workload/history/run_history.h"

#include <gtest/gtest.h>

#include <string>

#include "workload/history/testing.h"

namespace muster {
namespace {

const std::string kRunHeader =
    "job_id,tenant,user,name,model,gpus,submit_s,start_s,end_s,jct_s,wait_s,run_s,preemptions,"
    "migrations,state,wait_fair_share_s,wait_fragmentation_s,wait_order_s,wait_backoff_s,"
    "over_part_on_arrival,overtaking,failures,last_failure,lost_gpu_s,gpu_s\n";

std::string summary_of(int jobs, const std::string& more = "") {
  return R"({"policy": "srtf", "mechanism": "tune", "placement": "consolidate", "jobs": )" +
         std::to_string(jobs) + more + "}";
}

const std::string kLeaseHeader =
    "job_id,server,gpus,start_s,end_s,cpus,mem_gb,speed,ended,reason\n";

Result<History> parse(const std::string& jobs, const std::string& leases,
                      const std::string& summary) {
  return parse_run({jobs, kLeaseHeader + leases, summary}, "out");
}

std::string run_error(const std::string& jobs, const std::string& summary,
                      const std::string& leases = "") {
  const Result<History> history = parse(jobs, leases, summary);
  return history.ok() ? "" : history.error().message;
}

const std::string kFinished =
    "a,t1,u1,n,res50,4,0,10,110.5,110.5,10,100,1,0,finished,1,2,3,4,1,,1,core-dump,0,400\n";
const std::string kFailed = "b,,,,,1,5,6,7,,,1,0,0,failed,,,,,0,,1,syntax-error,1.5,1\n";
const std::string kRejected = "c,t1,,,,900,8,,,,,0,0,0,rejected,,,,,0,,0,,0,0\n";
const std::string kUnfinished = "d,t1,,,,1,9,10,,,,5,0,0,unfinished,,,,,0,,0,,0,5\n";
// The leases of job a: stopped, then on two nodes, one GPU less, failed, finished. Sorted by end.
const std::string kLeases =
    "b,s1,7,6,7,4,60,1,failed,syntax-error\n"
    "a,s1,0 1 2 3,10,20,4,60,1,stopped,\n"
    "a,s1,0 1,30,40,4,60,1,changed,\n"
    "a,s2,4 5,30,40,4,60,1,changed,\n"
    "a,s1,0 1,40,50,4,60,1,failed,core-dump\n"
    "a,s2,5,40,50,4,60,1,failed,core-dump\n"
    "a,s2,0 1 2 3,50,80,4,60,1,changed,\n"
    "a,s2,0 1 2 3,80,110.5,9,60,1,finished,\n";

Instant at(double seconds) { return Instant::micros(static_cast<std::int64_t>(seconds * 1e6)); }

TEST(FromRun, TellsWhatBecameOfEachJob) {
  const Result<History> result =
      parse(kRunHeader + kFinished + kFailed + kRejected + kUnfinished, kLeases, summary_of(4));
  ASSERT_TRUE(result.ok()) << result.error().message;
  const History& history = result.value();
  EXPECT_EQ(history.source, "out (srtf, tune, consolidate)");
  EXPECT_EQ(history.format, "muster-run");
  ASSERT_EQ(history.jobs.size(), 4u);
  const PastJob& finished = history.jobs[0];
  EXPECT_EQ(names_of(history, finished), "a t1 u1 res50");
  EXPECT_EQ(finished.status, Status::kPassed);
  EXPECT_EQ(finished.gpus, 4);
  EXPECT_EQ(finished.failures, 1);
  EXPECT_EQ(finished.run, Duration::seconds(100));
  const PastJob& failed = history.jobs[1];
  EXPECT_EQ(failed.status, Status::kFailed);
  EXPECT_EQ(failed.lost_gpu_us, 1'500'000);
  EXPECT_EQ(history.attempts_of(failed)[0].reason, Reason::kSyntaxError);
  EXPECT_EQ(history.jobs[2].attempt_count, 0u);
  EXPECT_EQ(history.jobs[2].status, Status::kUnknown);
  EXPECT_TRUE(history.jobs[2].rejected);
  EXPECT_FALSE(history.jobs[0].rejected);
  EXPECT_EQ(history.jobs[3].attempt_count, 0u);
  ASSERT_EQ(history.waits.size(), 4u);
  EXPECT_EQ(history.waits[0][WaitCause::kFragmentation], Duration::seconds(2));
  EXPECT_EQ(history.waits[0][WaitCause::kBackoff], Duration::seconds(4));
  EXPECT_TRUE(history.waits[0].over_part_on_arrival);
  EXPECT_EQ(history.notes, (std::vector<std::string>{"1 job rejected: could never run",
                                                     "1 job unfinished at the end of the run"}));
  const Knows& knows = history.knows;
  EXPECT_TRUE(knows.runs && knows.starts && knows.status && knows.failures && knows.tenants);
  EXPECT_TRUE(knows.attempts && knows.hosts && knows.reasons && knows.waits && knows.lost);
  EXPECT_FALSE(knows.dates || knows.use);
}

TEST(FromRun, KnowsKilledJobs) {
  const Result<History> result =
      parse(kRunHeader + "k,,,,,2,0,0,9,,0,9,0,0,killed,0,0,0,0,0,,0,,0,18\n",
            "k,s1,0 1,0,9,4,60,1,killed,\n", summary_of(1));
  ASSERT_TRUE(result.ok()) << result.error().message;
  const History& history = result.value();
  EXPECT_EQ(history.jobs[0].status, Status::kKilled);
  ASSERT_EQ(history.jobs[0].attempt_count, 1u);
  EXPECT_FALSE(history.attempts[0].failed);
  EXPECT_EQ(history.attempts[0].end, at(9));
}

TEST(FromRun, ALeaseIsAnAttempt) {
  const Result<History> result = parse(kRunHeader + kFinished + kFailed, kLeases, summary_of(2));
  ASSERT_TRUE(result.ok()) << result.error().message;
  const History& history = result.value();
  const auto attempts = history.attempts_of(history.jobs[0]);
  ASSERT_EQ(attempts.size(), 4u);
  EXPECT_EQ(attempts[0].start, at(10));
  EXPECT_EQ(attempts[0].end, at(20));
  EXPECT_EQ(attempts[0].host_count, 1u);
  EXPECT_FALSE(attempts[0].failed || attempts[0].reason);
  EXPECT_EQ(attempts[1].start, at(30));
  EXPECT_EQ(attempts[1].end, at(40));
  EXPECT_FALSE(attempts[1].failed);
  EXPECT_EQ(attempts[2].end, at(50));
  EXPECT_EQ(attempts[2].run, Duration::seconds(10));
  EXPECT_TRUE(attempts[2].failed);
  EXPECT_EQ(attempts[2].reason, Reason::kCoreDump);
  ASSERT_EQ(attempts[1].host_count, 2u);
  const HostShare& second = history.hosts_of(attempts[1])[1];
  EXPECT_EQ(history.nodes[second.node].name, "s2");
  EXPECT_EQ(second.gpus, 0b110000u);
  EXPECT_EQ(attempts[3].start, at(50));
  EXPECT_EQ(attempts[3].end, at(110.5));  // Two leases with different CPUs are one attempt.
  EXPECT_FALSE(attempts[3].failed);
  EXPECT_FALSE(attempts[0].resumed);
  EXPECT_TRUE(attempts[1].resumed);   // After a stop.
  EXPECT_TRUE(attempts[2].resumed);   // With one GPU less.
  EXPECT_FALSE(attempts[3].resumed);  // After a failure.
  EXPECT_EQ(history.jobs[0].gpu_us, 400'000'000);
  EXPECT_EQ(history.nodes[0].gpus, 8);
  EXPECT_EQ(history.nodes[1].gpus, 6);
}

// The job has no lease, but it has an attempt.
TEST(FromRun, FailingInThePreRunIsAnAttempt) {
  const Result<History> result = parse(kRunHeader + kFailed, "", summary_of(1));
  ASSERT_TRUE(result.ok()) << result.error().message;
  const History& history = result.value();
  ASSERT_EQ(history.jobs[0].attempt_count, 1u);
  const Attempt& attempt = history.attempts_of(history.jobs[0])[0];
  EXPECT_TRUE(attempt.failed);
  EXPECT_EQ(attempt.reason, Reason::kSyntaxError);
  EXPECT_EQ(attempt.run, Duration::seconds(1));
  EXPECT_EQ(attempt.start, Instant::never());
  EXPECT_EQ(history.notes.back(), "1 job failed in the pre-run, before the gang started");
}

TEST(FromRun, ReadsTheSummary) {
  const std::string jobs = kRunHeader + kFailed;
  const History cut = parse(jobs, "", summary_of(1, R"(, "partial": true, "gpus": 12)")).value();
  EXPECT_EQ(cut.source, "out (srtf, tune, consolidate; interrupted)");
  EXPECT_EQ(cut.gpus, 12);
  EXPECT_EQ(parse(jobs, "", summary_of(1)).value().gpus, 0);
  EXPECT_EQ(run_error(jobs, summary_of(2)), "out/jobs.csv: 1 job, but summary.json has 2");
  EXPECT_EQ(run_error(jobs, summary_of(2, R"(, "window": [0, 2])")), "");
  EXPECT_EQ(run_error(jobs, "[]"), "out/summary.json: not a JSON object");
  EXPECT_EQ(run_error(jobs, "{"), "out/summary.json: not a JSON object");
  EXPECT_EQ(run_error(jobs, R"({"policy": "srtf", "mechanism": 1})"),
            "out/summary.json: mechanism: missing or not a string");
}

TEST(FromRun, SaysWhatIsWrong) {
  const std::string summary = summary_of(1);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = kFailed;
    text.replace(text.find(from), from.size(), to);
    return run_error(kRunHeader + text, summary);
  };
  EXPECT_EQ(run_error("", summary), "out/jobs.csv:1: the file is empty");
  EXPECT_EQ(run_error(kRunHeader, summary), "out/jobs.csv:1: no jobs: nothing after the header");
  EXPECT_EQ(run_error("job_id,tenant\n", summary),
            "out/jobs.csv:1: user: column missing from the header: 'job_id,tenant'");
  EXPECT_EQ(run_error(kRunHeader + kFailed + kFailed, summary_of(2)),
            "out/jobs.csv:3: job_id: empty, or given twice: 'b'");
  EXPECT_EQ(with("1.5,1", "-1,1"),
            "out/jobs.csv:2: lost_gpu_s: not between 0 and 9000000000000: '-1'");
  EXPECT_EQ(with(",1,5,", ",one,5,"), "out/jobs.csv:2: gpus: not a whole number: 'one'");
  EXPECT_EQ(with(",1,5,", ",1,,"), "out/jobs.csv:2: submit_s: empty: ''");
  EXPECT_EQ(with(",1,0,0,failed", ",x,0,0,failed"), "out/jobs.csv:2: run_s: not a number: 'x'");
  EXPECT_EQ(
      with("failed", "lost"),
      "out/jobs.csv:2: state: must be finished, killed, failed, rejected or unfinished: 'lost'");
  const auto lease = [&](const std::string& row) {
    return run_error(kRunHeader + kFailed, summary, row);
  };
  EXPECT_EQ(lease("b,s1,0,6,7,4,60,1,failed,hex\n").substr(0, 47),
            "out/leases.csv:2: reason: no such reason: 'hex'");
  EXPECT_EQ(lease("x,s1,0,6,7,4,60,1,finished,\n"),
            "out/leases.csv:2: job_id: no such job in jobs.csv: 'x'");
  EXPECT_EQ(lease("b,s1,64,6,7,4,60,1,finished,\n"),
            "out/leases.csv:2: gpus: not between 0 and 63: '64'");
  EXPECT_EQ(lease("b,s1,,6,7,4,60,1,finished,\n"),
            "out/leases.csv:2: gpus: not a whole number: ''");
  EXPECT_EQ(lease("b,,1,6,7,4,60,1,finished,\n"), "out/leases.csv:2: server: empty: ''");
  EXPECT_EQ(lease("b,s1,1,6,5,4,60,1,finished,\n"),
            "out/leases.csv:2: end_s: empty, or before the start: '5'");
  EXPECT_EQ(lease("b,s1,1,6,7,4,60,1,finish,\n"),
            "out/leases.csv:2: ended: no such end: 'finish'; did you mean 'finished'?");
  EXPECT_EQ(from_run("/nowhere").error().message, "/nowhere/jobs.csv: no such file");
}

}  // namespace
}  // namespace muster
