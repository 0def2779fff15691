#include "workload/philly/philly_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "workload/history/testing.h"
#include "workload/philly/pacific_time.h"

namespace muster {
namespace {

History read_log_text(const std::string& text) {
  Result<History> history = parse_philly_log(text, "log");
  EXPECT_TRUE(history.ok()) << (history.ok() ? "" : history.error().message);
  return history.ok() ? std::move(history).value() : History();
}

std::string log_error(const std::string& text) {
  const Result<History> history = parse_philly_log(text, "log");
  return history.ok() ? "" : history.error().message;
}

Instant utc(std::string_view text) {
  return Instant::at(Duration::seconds(parse_wall_time(text).value()));
}

std::string job_with(const std::string& fields) {
  return R"([{"submitted_time":"2017-10-09 07:02:33")" + fields + "}]";
}

std::string attempt_with(const std::string& fields) {
  return job_with(R"(,"attempts":[{)" + fields + "}]");
}

bool noted(const History& history, std::string_view note) {
  return std::find(history.notes.begin(), history.notes.end(), note) != history.notes.end();
}

constexpr const char* kReadmeExample = R"([
    {
        "status": "Pass",
        "vc": "ee9e8c",
        "jobid": "application_1506638472019_14199",
        "attempts": [
            {
                "start_time": "2017-10-07 01:12:09",
                "end_time": "2017-10-07 01:13:23",
                "detail": [
                    {"ip": "m47", "gpus": ["gpu0", "gpu1", "gpu2", "gpu3"]},
                    {"ip": "m48", "gpus": ["gpu4", "gpu7"]}
                ]
            },
            {
                "start_time": "2017-10-07 01:13:30",
                "end_time": "2017-10-09 06:53:12",
                "detail": [
                    {"ip": "m412", "gpus": ["gpu0", "gpu1", "gpu2", "gpu3", "gpu4", "gpu5"]}
                ]
            }
        ],
        "submitted_time": "2017-10-07 01:11:39",
        "user": "ce2f4c"
    }
])";

TEST(PhillyLog, ReadsAJobWithItsAttempts) {
  const History history = read_log_text(kReadmeExample);
  EXPECT_EQ(history.source, "log");
  EXPECT_EQ(history.format, "philly-log");
  EXPECT_EQ(history.notes, std::vector<std::string>{});
  ASSERT_EQ(history.jobs.size(), 1u);
  const PastJob& job = history.jobs[0];
  EXPECT_EQ(names_of(history, job), "application_1506638472019_14199 ee9e8c ce2f4c ");
  EXPECT_EQ(job.status, Status::kPassed);
  EXPECT_EQ(job.gpus, 6);
  EXPECT_EQ(job.failures, 1);
  EXPECT_EQ(job.submit, utc("2017-10-07 08:11:39"));
  EXPECT_EQ(job.run, Duration::seconds(74 + 193182));
  const auto attempts = history.attempts_of(job);
  ASSERT_EQ(attempts.size(), 2u);
  EXPECT_EQ(attempts[0].start, utc("2017-10-07 08:12:09"));
  EXPECT_EQ(attempts[1].end, utc("2017-10-09 13:53:12"));
  const auto hosts = history.hosts_of(attempts[0]);
  ASSERT_EQ(hosts.size(), 2u);
  EXPECT_EQ(history.nodes[hosts[1].node].name, "m48");
  EXPECT_EQ(hosts[0].gpus, 0b1111u);
  EXPECT_EQ(hosts[1].gpus, 0b10010000u);
  EXPECT_EQ(history.nodes[hosts[1].node].gpus, 8);  // By the highest index.
}

TEST(PhillyLog, KnowsWhatALogTells) {
  const Knows knows = read_log_text(kReadmeExample).knows;
  EXPECT_TRUE(knows.dates && knows.runs && knows.starts && knows.attempts && knows.hosts);
  EXPECT_TRUE(knows.status && knows.failures && knows.tenants && knows.users);
  EXPECT_FALSE(knows.reasons || knows.use);
}

TEST(PhillyLog, TakesNullNothingAndTheWordNoneAsNoTime) {
  for (const std::string missing : {"null", "\"\"", "\"None\""}) {
    const History history = read_log_text(
        job_with(R"(,"attempts":[{"start_time":)" + missing + R"(,"end_time":)" + missing + "}]") +
        "");
    ASSERT_EQ(history.attempts.size(), 1u);
    EXPECT_EQ(history.attempts[0].start, Instant::never());
    EXPECT_EQ(history.attempts[0].end, Instant::never());
    EXPECT_EQ(history.jobs[0].run, Duration());
    EXPECT_TRUE(noted(history, "1 attempt without a start"));
    EXPECT_TRUE(noted(history, "1 attempt without an end"));
  }
}

TEST(PhillyLog, LeavesOutJobsWithoutSubmission) {
  for (const std::string missing : {"null", "\"\"", "\"None\""}) {
    const std::string text = R"([{"submitted_time":)" + missing +
                             R"(,"jobid":"a"},{"submitted_time":"2017-10-09 07:02:33"}])";
    const History history = read_log_text(text);
    EXPECT_EQ(history.jobs.size(), 1u);
    EXPECT_TRUE(noted(history, "1 job skipped: no submit time"));
  }
  EXPECT_EQ(log_error(R"([{"jobid":"a"}])"), "log: no jobs with a submit time");
  EXPECT_EQ(log_error("[]"), "log: no jobs");
}

TEST(PhillyLog, KeepsJobsWithoutAttempts) {
  for (const std::string attempts : {R"(,"attempts":[])", R"(,"attempts":null)", ""}) {
    const History history = read_log_text(job_with(R"(,"status":"Failed")" + attempts));
    ASSERT_EQ(history.jobs.size(), 1u);
    EXPECT_EQ(history.jobs[0].gpus, 0);
    EXPECT_EQ(history.jobs[0].attempt_count, 0u);
    EXPECT_EQ(history.jobs[0].failures, 0);
    EXPECT_TRUE(noted(history, "1 job without attempts: number of GPUs unknown"));
  }
}

TEST(PhillyLog, CountsGpusOfTheFirstAttemptThatNamesAny) {
  const std::string none = R"({"detail":[]})";
  const std::string two = R"({"detail":[{"ip":"m1","gpus":["gpu3","gpu0"]}]})";
  const std::string one = R"({"detail":[{"ip":"m2","gpus":["gpu0"]}]})";
  const auto gpus = [&](const std::string& attempts) {
    return read_log_text(job_with(R"(,"attempts":[)" + attempts + "]")).jobs[0].gpus;
  };
  EXPECT_EQ(gpus(two), 2);
  EXPECT_EQ(gpus(none + "," + two), 2);
  EXPECT_EQ(gpus(two + "," + one), 2);
  EXPECT_EQ(gpus(none), 0);
  EXPECT_TRUE(noted(read_log_text(job_with(R"(,"attempts":[)" + two + "," + one + "]")),
                    "1 job with attempts on different numbers of GPUs: the first number is used"));
}

TEST(PhillyLog, JoinsSharesOfOneServerAndGpusNamedTwice) {
  const History history = read_log_text(
      attempt_with(R"("detail":[{"ip":"m1","gpus":["gpu0"]},{"ip":"m2","gpus":["gpu1"]},)"
                   R"({"ip":"m1","gpus":["gpu2","gpu2","gpu0"]}])"));
  EXPECT_EQ(history.hosts.size(), 2u);
  EXPECT_EQ(history.hosts[0].gpus, 0b101u);
  EXPECT_EQ(history.jobs[0].gpus, 3);
}

TEST(PhillyLog, NotesGpusAndServersWithOddNames) {
  const History history = read_log_text(attempt_with(
      R"("detail":[{"ip":"m1","gpus":["gpu1","tpu","gpu64","gpu","gpu-1"]},{"gpus":["gpu0"]}])"));
  EXPECT_EQ(history.hosts.size(), 1u);
  EXPECT_EQ(history.hosts[0].gpus, 0b11111u);
  EXPECT_EQ(history.jobs[0].gpus, 6);
  EXPECT_TRUE(
      noted(history, "4 GPUs not named gpu0 to gpu63: read as the lowest free GPU of the node"));
  EXPECT_TRUE(noted(history, "1 record for a node without a name: only the GPUs are counted"));
}

TEST(PhillyLog, KnowsThreeStatuses) {
  const auto status = [](const std::string& text) {
    return read_log_text(job_with(R"(,"status":)" + text)).jobs[0].status;
  };
  EXPECT_EQ(status("\"Pass\""), Status::kPassed);
  EXPECT_EQ(status("\"Killed\""), Status::kKilled);
  EXPECT_EQ(status("\"Failed\""), Status::kFailed);
  EXPECT_EQ(status("\"pass\""), Status::kUnknown);
  EXPECT_EQ(status("null"), Status::kUnknown);
  EXPECT_TRUE(noted(read_log_text(job_with(R"(,"status":"Running")")),
                    "1 job with a status other than Pass, Killed and Failed: 'Running'"));
}

TEST(PhillyLog, CountsFailuresByAttemptsAndStatus) {
  const auto failures = [](const std::string& status, const std::string& attempts) {
    return read_log_text(
               job_with(R"(,"attempts":[)" + attempts + R"(],"status":")" + status + "\""))
        .jobs[0]
        .failures;
  };
  EXPECT_EQ(failures("Pass", "{}"), 0);
  EXPECT_EQ(failures("Failed", "{}"), 1);
  EXPECT_EQ(failures("Killed", "{},{},{}"), 2);
  EXPECT_EQ(failures("Failed", "{},{},{}"), 3);
}

TEST(PhillyLog, SortsJobsBySubmission) {
  const History history = read_log_text(R"([{"submitted_time":"2017-10-09 07:00:02","jobid":"c"},)"
                                        R"({"submitted_time":"2017-10-09 07:00:01","jobid":"a"},)"
                                        R"({"submitted_time":"2017-10-09 07:00:01","jobid":"b"}])");
  std::string order;
  for (const PastJob& job : history.jobs) order += history.ids[job.id];
  EXPECT_EQ(order, "abc");
}

TEST(PhillyLog, SortsAttemptsByTime) {
  const History history = read_log_text(job_with(
      R"(,"attempts":[{"start_time":"2017-10-09 09:00:00","end_time":"2017-10-09 09:30:00"},)"
      R"({"start_time":null,"end_time":"2017-10-09 08:30:00"},)"
      R"({"start_time":"2017-10-09 07:10:00","end_time":null}])"));
  ASSERT_EQ(history.attempts.size(), 3u);
  EXPECT_EQ(history.attempts[0].start, utc("2017-10-09 14:10:00"));
  EXPECT_EQ(history.attempts[1].end, utc("2017-10-09 15:30:00"));
  EXPECT_TRUE(noted(history, "1 job with attempts out of order: sorted by time"));
}

// An attempt without times keeps its position: it failed, and the next one did not.
TEST(PhillyLog, AttemptsWithoutTimesKeepTheirPlace) {
  const History history = read_log_text(
      job_with(R"(,"attempts":[{"start_time":null,"end_time":null},)"
               R"({"start_time":"2017-10-09 09:00:00","end_time":"2017-10-09 09:30:00"}])"));
  ASSERT_EQ(history.attempts.size(), 2u);
  EXPECT_EQ(history.attempts[0].start, Instant::never());
  EXPECT_TRUE(history.attempts[0].failed);
  EXPECT_FALSE(history.attempts[1].failed);
  EXPECT_FALSE(noted(history, "1 job with attempts out of order: sorted by time"));
}

TEST(PhillyLog, NotesTimesThatRunBackwards) {
  const History backwards = read_log_text(
      attempt_with(R"("start_time":"2017-10-09 08:00:00","end_time":"2017-10-09 07:59:59")"));
  EXPECT_EQ(backwards.attempts[0].end, Instant::never());
  EXPECT_TRUE(noted(backwards, "1 attempt with an end before the start: end ignored"));
  const History early = read_log_text(attempt_with(R"("start_time":"2017-10-09 07:00:00")"));
  EXPECT_EQ(early.attempts[0].start, utc("2017-10-09 14:00:00"));
  EXPECT_TRUE(noted(early, "1 attempt with a start before the job's submit time"));
}

// Submitted and started before the clocks changed, ended after.
TEST(PhillyLog, CrossesTheNightOfTheFifthOfNovember) {
  const History history = read_log_text(
      R"([{"attempts":[{"start_time":"2017-11-05 01:50:00","end_time":"2017-11-05 01:10:00"},)"
      R"({"start_time":"2017-11-05 01:20:00","end_time":"2017-11-05 02:20:00"}],)"
      R"("submitted_time":"2017-11-05 00:50:00"}])");
  EXPECT_EQ(history.jobs[0].submit, utc("2017-11-05 07:50:00"));
  EXPECT_EQ(history.attempts[0].start, utc("2017-11-05 08:50:00"));
  EXPECT_EQ(history.attempts[0].end, utc("2017-11-05 09:10:00"));
  EXPECT_EQ(history.attempts[1].start, utc("2017-11-05 09:20:00"));
  EXPECT_EQ(history.attempts[1].end, utc("2017-11-05 10:20:00"));
  EXPECT_EQ(history.jobs[0].run, Duration::seconds(20 * 60 + 60 * 60));
  EXPECT_TRUE(noted(history,
                    "3 times in the repeated hour in November: read as the first, unless that is "
                    "too early"));
}

TEST(PhillyLog, NotesIdsGivenTwiceOrNotAtAll) {
  const std::string a = R"({"submitted_time":"2017-10-09 07:02:33","jobid":"a"})";
  const History history =
      read_log_text("[" + a + "," + a + R"(,{"submitted_time":"2017-10-09 07:02:34"}])");
  EXPECT_EQ(history.jobs.size(), 3u);
  EXPECT_EQ(history.jobs[0].id, history.jobs[1].id);
  EXPECT_TRUE(noted(history, "1 job with the id of an earlier job"));
  EXPECT_TRUE(noted(history, "1 job without an id"));
}

TEST(PhillyLog, SkipsFieldsItDoesNotKnow) {
  const History history = read_log_text(job_with(
      R"(,"x":{"status":"Failed","y":[1,2.5e3,-0,true,false,null,"}]\u00e9"]},)"
      R"("\u0073tatus":"Pass","attempts":[{"z":[],"detail":[{"w":{},"gpus":["gpu0"]}]}])"));
  EXPECT_EQ(history.jobs[0].status, Status::kPassed);
  EXPECT_EQ(history.jobs[0].gpus, 1);
  EXPECT_TRUE(noted(history, "3 values ignored in unknown fields: 'x', 'z', 'w'"));
}

TEST(PhillyLog, ReadsNamesWithEscapes) {
  const History history = read_log_text(job_with(R"(,"jobid":"a\"\\\u00e9","vc":"\u4e2d")"));
  EXPECT_EQ(history.ids[history.jobs[0].id], "a\"\\\xc3\xa9");
  EXPECT_EQ(history.tenants[history.jobs[0].tenant], "\xe4\xb8\xad");
}

TEST(PhillyLog, SaysWhereAndWhatIsWrong) {
  const std::string good = R"({"submitted_time":"2017-10-09 07:02:33"})";
  const auto second = [&](const std::string& job) {
    return log_error("[" + good + "," + job + "]");
  };
  EXPECT_EQ(second(R"({"submitted_time":"noon"})"),
            "log: byte 60: job 2: submitted_time: not a time such as 2017-10-09 07:02:33: 'noon'");
  EXPECT_EQ(second(R"({"attempts":[{},{"start_time":"2017-06-31 00:00:00"}]})"),
            "log: byte 72: job 2: attempts[1].start_time: not a time such as 2017-10-09 07:02:33: "
            "'2017-06-31 00:00:00'");
  EXPECT_EQ(second(R"({"attempts":[{"detail":[{},{"gpus":[7]}]}]})"),
            "log: byte 78: job 2: attempts[0].detail[1].gpus: not a string");
  EXPECT_EQ(second(R"({"attempts":{}})"), "log: byte 54: job 2: attempts: not a list");
  EXPECT_EQ(second(R"({"attempts":[7]})"), "log: byte 55: job 2: attempts[0]: not an object");
  EXPECT_EQ(second(R"({"attempts":[{"detail":["m1"]}]})"),
            "log: byte 66: job 2: attempts[0].detail[0]: not an object");
  EXPECT_EQ(second(R"({"vc":true})"), "log: byte 48: job 2: vc: not a string");
  EXPECT_EQ(second(R"({"vc":"a","vc":"b"})"), "log: byte 52: job 2: vc: given twice");
  EXPECT_EQ(second(R"({"vc":"a\u0007"})"),
            "log: byte 48: job 2: vc: control character in text: 'a\\x07'");
  EXPECT_EQ(second("{\"vc\":\"a\xff\"}"), "log: byte 42: job 2: not UTF-8 text");
  EXPECT_EQ(second("{\"vc\":\"a\nb\"}"), "log: byte 42: job 2: control character in a string");
  EXPECT_EQ(second(R"({"vc":nul})"), "log: byte 48: job 2: vc: not JSON");
  EXPECT_EQ(second(R"({"\u001b[1m":nul})"), "log: byte 55: job 2: '\\x1b[1m': not JSON");
}

TEST(PhillyLog, SaysWhereItIsNoJson) {
  for (const char* const job :
       {R"({"vc" "a"})", R"({"vc":"a" "b":1})", R"({"vc":"a",})", R"({,})", R"({"x":tru})",
        R"({"x":01})", R"({"x":[1 2]})", R"({"x":[1,]})", R"({"x":{"y":}})", R"({"x":nulx})",
        R"({"x":"\q"})", R"({vc:"a"})", R"({"attempts":[}})", R"({"x":1]})", R"({"x":-})"}) {
    const std::string error = log_error(std::string("[") + job + "]");
    EXPECT_TRUE(error.starts_with("log: byte ")) << job << ": " << error;
    EXPECT_NE(error.find(": job 1: "), std::string::npos) << job << ": " << error;
    EXPECT_TRUE(error.ends_with("not JSON")) << job << ": " << error;
  }
}

TEST(PhillyLog, RefusesWhatIsTooDeep) {
  const std::string deep = std::string(100, '[') + std::string(100, ']');
  EXPECT_NE(log_error(job_with(",\"x\":" + deep)), "");
}

TEST(PhillyLog, ReadsFilesAndPipes) {
  const std::string path = testing::TempDir() + "muster_philly_log_test.json";
  std::ofstream(path) << kReadmeExample;
  Result<History> history = read_philly_log(path);
  ASSERT_TRUE(history.ok());
  EXPECT_EQ(history.value().source, path);
  EXPECT_EQ(history.value().jobs.size(), 1u);
  EXPECT_EQ(read_philly_log("/nowhere/log").error().message, "/nowhere/log: no such file");
  EXPECT_EQ(read_philly_log("/tmp").error().message, "/tmp: a directory, not a file");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace muster
