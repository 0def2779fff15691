#include "workload/input/job_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/types/testing.h"

namespace muster {
namespace {

Result<JobRequest> parse(std::string_view text) {
  return parse_job_file(text, "job.yaml", "/here");
}

std::string refused(std::string_view text) { return error_text(parse(text)); }

TEST(JobFile, ReadsTheTenLinesOfTheManual) {
  const Result<JobRequest> read = parse(
      "name: resnet          # default: the command's first word\n"
      "gpus: 2\n"
      "model: resnet50\n"
      "command: [python, train.py, --epochs, \"90\"]\n"
      "cwd: /home/ann/work\n"
      "env: {DATA: /data/imagenet, LR: 0.1}\n"
      "time_limit: 12h\n"
      "on_lost: {keep_for: 20m, then: fail, stop_on_agent_after: 10m}\n"
      "estimate: 4h\n"
      "tenant: vision\n"
      "priority: 10\n"
      "retries: 2\n"
      "prerun: 60s\n"
      "array: 0-9%2\n"
      "after_ok: [11]\n"
      "hold: false\n");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(request_json(read.value()),
            R"({"name":"resnet","tenant":"vision",)"
            R"("command":["python","train.py","--epochs","90"],)"
            R"("env":{"DATA":"/data/imagenet","LR":"0.1"},"cwd":"/home/ann/work","gpus":2,)"
            R"("model":"resnet50","estimate":14400,"time_limit":43200,"priority":10,"retries":2,)"
            R"("on_lost":{"keep_for":1200,"then":"fail","stop_on_agent_after":600},)"
            R"("prerun":60,"after_ok":[11],"array":"0-9%2"})");
}

TEST(JobFile, ACommandOfSeveralLinesIsForTheShell) {
  const Result<JobRequest> read = parse("command: |\n  module load cuda\n  \tpython train.py\n");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value().command,
            (std::vector<std::string>{"/bin/sh", "-c", "module load cuda\n\tpython train.py\n"}));
  EXPECT_EQ(read.value().name, "module");
}

TEST(JobFile, RunsWhereTheCallerStandsUnlessItSays) {
  EXPECT_EQ(parse("command: a\n").value().cwd, "/here");
  EXPECT_EQ(parse("command: a\ncwd: work\n").value().cwd, "/here/work");
  EXPECT_EQ(parse("command: a\ncwd: ../there\n").value().cwd, "/there");
  EXPECT_EQ(parse("command: a\ncwd: /x\n").value().cwd, "/x");
}

TEST(JobFile, IsJsonTooIfOneLikes) {
  EXPECT_EQ(parse(R"({"command": ["a", "b"], "after_any": 3})").value().after_any,
            std::vector<std::uint64_t>{3});
}

TEST(JobFile, SaysWhereSomethingIsWrong) {
  expect_texts(
      refused,
      {
          {"", "job.yaml: empty"},
          {"- a\n", "job.yaml:1: not a map of a job's keys"},
          {"name: x\n", "job.yaml: command: required"},
          {"command: a\ngpu: 2\n", "job.yaml:2: unknown key: 'gpu'; did you mean 'gpus'?"},
          {"command: a\ngpus: two\n", "job.yaml:2: gpus: not a whole number: 'two'"},
          {"command: a\ngpus:\n", "job.yaml:2: gpus: not a whole number: nothing"},
          {"command: a\n\ngpus: 0\n", "job.yaml:3: gpus: not between 1 and 65536: 0"},
          {"command: a\ngpus: {fewest: 1}\n", "job.yaml:2: gpus: a map is not allowed here"},
          {"command: a\nhold: yes\n", "job.yaml:2: hold: not true or false: 'yes'"},
          {"command:\n  - a\n  - [b]\n", "job.yaml:3: command: not text: nothing"},
          {"command: a\nenv:\n  A: 1\n  MUSTER_X: 2\n",
           "job.yaml:2: env: 'MUSTER_X' is reserved; Muster sets all variables named MUSTER_*"},
          {"command: a\nenv:\n  A: 1\n  B: [2]\n", "job.yaml:4: env: 'B': not text"},
          {"command: a\nenv: [A]\n", "job.yaml:2: env: a list is not allowed here"},
          {"command: a\ntime_limit: 12:00:00\n",
           "job.yaml:2: time_limit: not a duration: '12:00:00'; write 300s, 5m, 2h or 1d"},
          {"command: a\non_lost:\n  then: fail\n  keep_for: soon\n",
           "job.yaml:4: on_lost: 'keep_for': not a duration: 'soon'; write 300s, 5m, 2h or 1d"},
          {"command: a\narray: 1,2\n",
           "job.yaml:2: array: not an array range: '1,2'; write 0-9, 0-9:2 or 0-9%3"},
          {"command: \"a\\0\"\n", "job.yaml:1: control character in 'a\\x00'"},
      });
}

TEST(JobFile, IsReadFromDisk) {
  const std::string path = testing::TempDir() + "job_file_test.yaml";
  std::ofstream(path) << "command: [sleep, 1]\ngpus: 3\n";
  const Result<JobRequest> read = read_job_file(path, "/here");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value().gpus, 3);
  std::filesystem::remove(path);
  EXPECT_EQ(read_job_file(path, "/here").error().message, path + ": no such file");
}

}  // namespace
}  // namespace muster
