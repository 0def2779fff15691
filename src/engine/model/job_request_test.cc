#include "engine/model/job_request.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "base/types/testing.h"

namespace muster {
namespace {

std::string refused(std::string_view json) { return error_text(read_request(json)); }

std::string trouble(const JobRequest& request) { return error_text(check_request(request)); }

JobRequest plain() {
  JobRequest request;
  request.name = "n";
  request.command = {"true"};
  return request;
}

TEST(JobRequest, ReadsWhatTheApiSays) {
  const Result<JobRequest> read = read_request(R"({
    "name": "resnet", "gpus": 2, "fewest": 1, "most": 4, "model": "resnet50",
    "command": ["python", "train.py", "--epochs", "90"], "cwd": "/home/ann/work",
    "env": {"DATA": "/data/imagenet"}, "time_limit": "12h", "estimate": 14400.5,
    "tenant": "vision", "priority": -10, "retries": 2, "prerun": "60s", "grace": 0,
    "array": "0-9%2", "after_ok": [11], "after_any": 12, "launch_per": "gpu",
    "cpus": 7.5, "mem": "96G", "spread": 2, "gpu_type": "v100", "hold": true})");
  ASSERT_TRUE(read.ok()) << read.error().message;
  JobRequest wanted;
  wanted.name = "resnet";
  wanted.gpus = 2;
  wanted.fewest = 1;
  wanted.most = 4;
  wanted.model = "resnet50";
  wanted.command = {"python", "train.py", "--epochs", "90"};
  wanted.cwd = "/home/ann/work";
  wanted.env = {{"DATA", "/data/imagenet"}};
  wanted.time_limit = Duration::seconds(43'200);
  wanted.estimate = Duration::micros(14'400'500'000);
  wanted.tenant = "vision";
  wanted.priority = -10;
  wanted.retries = 2;
  wanted.prerun = Duration::seconds(60);
  wanted.grace = Duration();
  wanted.array = ArrayRange{0, 9, 1, 2};
  wanted.after_ok = {11};
  wanted.after_any = {12};
  wanted.launch_per = LaunchPer::kGpu;
  wanted.cpus = CpuAmount{7'500};
  wanted.mem = MemAmount{98'304};
  wanted.spread = 2;
  wanted.gpu_type = "v100";
  wanted.hold = true;
  EXPECT_EQ(read.value(), wanted);
}

TEST(JobRequest, WritesOnlyWhatDiffersFromTheDefault) {
  JobRequest request = plain();
  EXPECT_EQ(request_json(request), R"({"name":"n","command":["true"]})");
  request.estimate = Duration::micros(90'000'001);
  request.grace = Duration();
  EXPECT_EQ(request_json(request),
            R"({"name":"n","command":["true"],"estimate":90.000001,"grace":0})");
}

TEST(JobRequest, OneTextIsACommandForTheShell) {
  const Result<JobRequest> read = read_request(R"({"command": "cd /x && ./a\n./b"})");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value().command, (std::vector<std::string>{"/bin/sh", "-c", "cd /x && ./a\n./b"}));
}

TEST(JobRequest, IsNamedAfterItsProgram) {
  const auto name = [](std::string_view json) { return read_request(json).value().name; };
  EXPECT_EQ(name(R"({"command": ["/usr/bin/python3", "x.py"]})"), "python3");
  EXPECT_EQ(name(R"({"command": "./train.sh --fast; date"})"), "train.sh");
  EXPECT_EQ(name(R"({"command": ["./.hidden dir"]})"), "_hidden_dir");
  EXPECT_EQ(name(R"({"command": ["/"]})"), "job");
  EXPECT_EQ(name(R"({"command": "  "})"), "job");
}

TEST(JobRequest, OneEndOfAnElasticJobGivesTheOther) {
  const JobRequest up = read_request(R"({"command":["a"],"gpus":2,"most":4})").value();
  EXPECT_EQ(up.fewest, 2);
  const JobRequest down = read_request(R"({"command":["a"],"gpus":2,"fewest":1})").value();
  EXPECT_EQ(down.most, 2);
}

TEST(JobRequest, RefusesJsonThatIsNoRequest) {
  expect_texts(
      refused,
      {
          {"", "not JSON: byte 1, at ''"},
          {"{", "not JSON: byte 2, at '{'"},
          {"[]", "not a JSON object"},
          {"7", "not a JSON object"},
          {"{}", "command: required"},
          {R"({"command":[]})", "command: required"},
          {R"({"command":[""]})", "command: required"},
          {R"({"gpu":1})", "unknown key: 'gpu'; did you mean 'gpus'?"},
          {R"({"gpus":1,"gpus":1})", "key given twice: 'gpus'"},
          {R"({"gpus":"2"})", "gpus: not a whole number: '2'"},
          {R"({"gpus":2.5})", "gpus: not a whole number: '2.5'"},
          {R"({"gpus":null})", "gpus: not a whole number: nothing"},
          {R"({"gpus":[2]})", "gpus: a list is not allowed here"},
          {R"({"gpus":99999999999})", "gpus: number too large: '99999999999'"},
          {R"({"gpus":99999999999999999999})", "gpus: number too large: '99999999999999999999'"},
          {R"({"name":{"a":1}})", "name: a map is not allowed here"},
          {R"({"name":7})", "name: not text: '7'"},
          {R"({"command":7})", "command: not a list of strings or a shell command: '7'"},
          {R"({"command":["a",7]})", "command: not text: '7'"},
          {R"({"command":["a",["b"]]})", "command: a list is not allowed here"},
          {R"({"env":["A=1"]})", "env: a list is not allowed here"},
          {R"({"env":{"A":1}})", "env: 'A': not text"},
          {R"({"env":{"A":{}}})", "env: a map is not allowed here"},
          {R"({"env":{"A":"1","A":"2"}})", "env: 'A': given twice"},
          {R"({"env":"A"})", "env: not a map of variables"},
          {R"({"hold":"true"})", "hold: not true or false: 'true'"},
          {R"({"estimate":true})", "estimate: not a duration: 'true'"},
          {R"({"estimate":-1})", "estimate: negative: '-1'"},
          {R"({"estimate":"1 week"})",
           "estimate: not a duration: '1 week'; write 300s, 5m, 2h or 1d"},
          {R"({"estimate":1e300})", "estimate: longer than 100 years: '1e300'"},
          {R"({"after_ok":0})", "after_ok: not a job id: '0'"},
          {R"({"after_any":[1,-3]})", "after_any: not a job id: '-3'"},
          {R"({"launch_per":"rank"})", "launch_per: unknown: 'rank'; one of: node, gpu"},
          {R"({"array":3})", "array: not text such as \"0-9\" or \"0-9:2%3\": '3'"},
          {"{\"name\":\"\xff\"}", "not JSON: byte 10, at '\"\\xff'"},
          {R"({"command":["a"]} x)", "not JSON: byte 19, at '\"a\"]} x'"},
      });
}

// The values of variables may be secrets, and messages reach logs.
TEST(JobRequest, MessagesHaveNoValuesOfVariables) {
  for (const std::string& bad :
       {std::string(R"({"env":{"A":1234567}})"), std::string("{\"env\":{\"A\":\"1234567\x01\"}}"),
        std::string(R"({"env":{"A":"1234567" "B"}})"), std::string(R"({"env":{"A":"1234567"}} x)"),
        std::string(R"({"env":"A=1234567"})"), std::string("{\"env\":{\"A\":\"1234567\xff\"}}"),
        std::string(R"({"env":{"A":"1234567\u0000"},"command":["a"]})")}) {
    const std::string message = refused(bad);
    EXPECT_FALSE(message.empty()) << bad;
    EXPECT_EQ(message.find("234567"), std::string::npos) << message;
  }
}

TEST(JobRequest, DeepAndLongInputIsRefusedAtOnce) {
  EXPECT_EQ(refused(std::string(400'000, '[')), "not a JSON object");
  EXPECT_EQ(refused(R"({"env":{"a":)" + std::string(400'000, '[')),
            "env: a list is not allowed here");
  EXPECT_EQ(refused(std::string(kMaxRequestBytes + 1, ' ')), "more than 512 KiB");
  std::string words = R"({"command":["a")";
  for (std::size_t i = 0; i < kMaxCommandWords; ++i) words += ",\"a\"";
  EXPECT_EQ(refused(words + "]}"), "command: more than 4096 words");
  std::string jobs = R"({"command":["a"],"after_ok":[1)";
  for (std::size_t i = 0; i < kMaxDependencies; ++i) jobs += ",1";
  EXPECT_EQ(refused(jobs + "]}"), "after_ok: more than 1000 jobs");
}

TEST(JobRequest, AScriptOfTheKernelsLengthIsTaken) {
  JobRequest request = plain();
  request.command = {"bash", "-c", std::string(kMaxWordBytes - 1, 'x')};
  EXPECT_EQ(trouble(request), "accepted");
  request.command[2] += 'x';
  EXPECT_NE(trouble(request).find("a word of 131072 bytes"), std::string::npos);
  request = plain();
  request.env["A"] = std::string(kMaxWordBytes - 3, 'x');
  EXPECT_EQ(trouble(request), "accepted");
  request.env["A"] += 'x';
  EXPECT_EQ(trouble(request), "env: 'A' is longer than 131072 bytes");
}

TEST(JobRequest, WhatWouldNotBeReadAgainIsRefused) {
  JobRequest request = plain();
  // Each word is short enough, and so are all together unless they have to be escaped.
  for (int i = 0; i < 4; ++i) request.command.push_back(std::string(100'000, 'x'));
  EXPECT_EQ(trouble(request), "accepted");
  EXPECT_EQ(read_request(request_json(request)).value(), request);
  request.command.back() = std::string(100'000, '\x01');
  EXPECT_EQ(trouble(request), "command: larger than 512 KiB together with env");
}

TEST(JobRequest, ChecksEachField) {
  const auto with = [](auto change) {
    JobRequest request = plain();
    change(request);
    return trouble(request);
  };
  using R = JobRequest;
  EXPECT_EQ(with([](R&) {}), "accepted");
  for (const char* name : {"", "a/b", ".a", "..", " a", "a ", "a\nb", "a\x7f", "\xc3\xa9"}) {
    EXPECT_EQ(with([&](R& r) { r.name = name; }).find("name: "), 0U) << name;
  }
  EXPECT_EQ(with([](R& r) { r.name = "lr=0.1, two"; }), "accepted");
  EXPECT_NE(with([](R& r) { r.name = std::string(129, 'a'); }), "accepted");
  EXPECT_EQ(with([](R& r) { r.tenant = "a b"; }).find("tenant: "), 0U);
  EXPECT_EQ(with([](R& r) { r.model = std::string(65, 'a'); }).find("model: "), 0U);
  EXPECT_EQ(with([](R& r) { r.gpu_type = "\n"; }).find("gpu_type: "), 0U);
  EXPECT_EQ(with([](R& r) { r.cwd = "work"; }), "cwd: not an absolute path: 'work'");
  EXPECT_EQ(with([](R& r) { r.cwd = std::string("/a\0b", 4); }), "cwd: a zero byte in '/a\\x00b'");
  EXPECT_EQ(with([](R& r) { r.command.push_back(std::string("\0", 1)); }),
            "command: a zero byte in '\\x00'");
  EXPECT_EQ(with([](R& r) { r.command.push_back(""); }), "accepted");
  EXPECT_EQ(with([](R& r) { r.env["A"] = std::string("\0", 1); }),
            "env: 'A': the value is not UTF-8 or has a zero byte");
  EXPECT_EQ(with([](R& r) { r.env["A-B"] = ""; }), "env: not a variable name: 'A-B'");
  EXPECT_EQ(with([](R& r) { r.env["1A"] = ""; }), "env: not a variable name: '1A'");
  EXPECT_EQ(with([](R& r) { r.env[""] = ""; }), "env: not a variable name: ''");
  EXPECT_EQ(with([](R& r) { r.env["MUSTER_JOB"] = ""; }),
            "env: 'MUSTER_JOB' is reserved; Muster sets all variables named MUSTER_*");
  EXPECT_EQ(with([](R& r) { r.gpus = 0; }), "gpus: not between 1 and 65536: 0");
  EXPECT_EQ(with([](R& r) { r.gpus = 65'537; }), "gpus: not between 1 and 65536: 65537");
  EXPECT_EQ(with([](R& r) { r.fewest = 2, r.most = 2; }), "fewest: not between 1 and gpus (1): 2");
  EXPECT_EQ(with([](R& r) { r.most = 2; }), "fewest: not between 1 and gpus (1): 0");
  EXPECT_EQ(with([](R& r) { r.gpus = 3, r.fewest = 1, r.most = 2; }),
            "most: not between gpus (3) and 65536: 2");
  EXPECT_EQ(with([](R& r) { r.priority = 1'001; }), "priority: not between -1000 and 1000: 1001");
  EXPECT_EQ(with([](R& r) { r.retries = -1; }), "retries: not between 0 and 100: -1");
  EXPECT_EQ(with([](R& r) { r.grace = Duration::seconds(3'601); }),
            "grace: not between 0 and 3600 seconds: 3601");
  EXPECT_EQ(with([](R& r) { r.estimate = Duration::micros(-1); }),
            "estimate: not between 0 and 3155760000 seconds: -0.000001");
  EXPECT_EQ(with([](R& r) { r.time_limit = Duration::max(); }).find("time_limit: "), 0U);
  EXPECT_EQ(with([](R& r) { r.after_ok = {0}; }), "after_ok: not a job id: 0");
  EXPECT_EQ(with([](R& r) { r.after_any = {UINT64_MAX}; }).find("after_any: "), 0U);
  EXPECT_EQ(with([](R& r) { r.after_ok.assign(600, 1), r.after_any.assign(401, 1); }),
            "after_ok: depends on more than 1000 jobs");
  EXPECT_EQ(with([](R& r) {
              r.array = ArrayRange{3, 2, 1, 0};
            }),
            "array: first index must be from 0 to the last index: 3-2");
  EXPECT_EQ(with([](R& r) {
              r.array = ArrayRange{0, 2, 0, 0};
            }),
            "array: step must be at least 1: 0");
  EXPECT_EQ(with([](R& r) {
              r.array = ArrayRange{0, 10'000, 1, 0};
            }),
            "array: more than 10000 jobs: 10001");
  EXPECT_EQ(with([](R& r) { r.array = ArrayRange{0, INT32_MAX, 1 << 20, 0}; }), "accepted");
}

TEST(JobRequest, SaysWhatBecomesOfItWhenItsServerIsLost) {
  EXPECT_EQ(OnLost().kept_for(), Duration::seconds(600));
  EXPECT_EQ(OnLost().stops_after(), Duration::seconds(480));
  EXPECT_FALSE(OnLost().fails());
  const auto read = [](const std::string& on_lost) {
    const auto request = read_request(R"({"command": ["true"], "on_lost": )" + on_lost + "}");
    if (!request.ok()) return request.error().message;
    return request_json(request.value());
  };
  const std::string head = R"({"name":"true","command":["true"])";
  EXPECT_EQ(read(R"({"keep_for": "5m", "then": "fail"})"),
            head + R"(,"on_lost":{"keep_for":300,"then":"fail"}})");
  EXPECT_EQ(read(R"("fail")"), head + R"(,"on_lost":{"then":"fail"}})");
  EXPECT_EQ(read("{}"), head + "}");
  EXPECT_EQ(read(R"({"then": "retry"})"),
            "on_lost: 'then': unknown: 'retry'; one of: requeue, fail");
  EXPECT_EQ(read(R"({"than": "fail"})"), "on_lost: 'than': unknown key; did you mean 'then'?");
  EXPECT_EQ(read(R"({"then": "fail", "then": "fail"})"), "on_lost: 'then': given twice");
  EXPECT_EQ(read(R"({"keep_for": 0})"),
            "on_lost: keep_for: not between 1 and 3155760000 seconds: 0");
  EXPECT_EQ(read(R"({"stop_on_agent_after": 0})"),
            "on_lost: stop_on_agent_after: not between 0.1 and 3155760000 seconds: 0");
  EXPECT_EQ(read(R"({"keep_for": "8m", "stop_on_agent_after": "8m"})"),
            "on_lost: stop_on_agent_after (480 s) must be less than keep_for (480 s), or the job "
            "could run "
            "twice");
}

TEST(JobRequest, TellsUtf8FromWhatOnlyLooksLikeIt) {
  const auto takes = [](std::string text) {
    JobRequest request = plain();
    request.command.push_back(std::move(text));
    return trouble(request) == "accepted";
  };
  for (const char* good : {"\xc2\x80", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                           "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "a\xc3\xa9z"}) {
    EXPECT_TRUE(takes(good)) << good;
  }
  for (const char* bad : {"\x80", "\xc0\x80", "\xc1\xbf", "\xc2",
                          "\xc2"
                          "a",
                          "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
                          "\xf5\x80\x80\x80", "\xe1\x80", "\xff"}) {
    EXPECT_FALSE(takes(bad)) << bad;
  }
}

TEST(JobRequest, ReadsRangesOfArrays) {
  EXPECT_EQ(parse_array("0-9:2%3").value(), (ArrayRange{0, 9, 2, 3}));
  EXPECT_EQ(parse_array("0-9:2%3").value().size(), 5U);
  EXPECT_EQ(parse_array("7").value(), (ArrayRange{7, 7, 1, 0}));
  EXPECT_EQ(parse_array("7%2").value(), (ArrayRange{7, 7, 1, 2}));
  for (const char* bad : {"", "-", "1-", "-1", "1-2-3", "1,3", "0-9:", "0-9%", "0-9%2:3", "a-b",
                          "0-99999999999", " 1", "0-9%-1", "--"}) {
    const Result<ArrayRange> array = parse_array(bad);
    ASSERT_FALSE(array.ok()) << bad;
    EXPECT_EQ(array.error().message.find("not an array range: '"), 0U) << bad;
  }
  EXPECT_EQ(parse_array("3-2").error().message,
            "first index must be from 0 to the last index: 3-2");
  EXPECT_EQ(parse_array("0-9:0").error().message, "step must be at least 1: 0");
  EXPECT_EQ(parse_array("0-10000").error().message, "more than 10000 jobs: 10001");
}

}  // namespace
}  // namespace muster
