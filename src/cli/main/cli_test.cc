// The program as its user meets it: words in, text and an exit status out.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/common/testing.h"
#include "engine/mechanism/registry.h"
#include "engine/placement/registry.h"
#include "engine/policy/registry.h"

namespace muster {
namespace {

constexpr const char* kHead = "job_id,submit_s,gpus,duration_s\n";
constexpr const char* kJobs = "1,0,1,100\n2,10,2,50\n3,20,4,30\n4,20,1,30\n";

class Cli : public ScratchTest {
 protected:
  std::string good_ = file("good.csv", std::string(kHead) + kJobs);
};

TEST_F(Cli, RefusesABadTraceInOneLineThatSaysWhereAndWhat) {
  const struct {
    std::string content;
    const char* what;
  } cases[] = {
      {"job_id,submit_s,gpu,duration_s\n1,0,1,1\n",
       ":1: header: unknown column: 'gpu'; did you "
       "mean 'gpus'?"},
      {"job_id,submit_s,gpus,duration_s\n1,-5,1,10\n", ":2: submit_s: negative: '-5'"},
      {"job_id,submit_s,gpus,duration_s\n1,0,1,-1\n", ":2: duration_s: negative: '-1'"},
      {"job_id,submit_s,gpus,duration_s\n1,0,two,10\n", ":2: gpus: not a whole number: 'two'"},
      {"job_id,submit_s,gpus,duration_s\n1,soon,1,10\n", ":2: submit_s: not a number: 'soon'"},
      {"job_id,submit_s,gpus,duration_s\n1,0,0,10\n", ":2: gpus: must be at least 1: '0'"},
      {"job_id,submit_s,gpus,duration_s\n1,0,1,1\n1,0,1,1\n", ":3: job_id: given twice: '1'"},
      {"job_id,submit_s,gpus,duration_s\n1,9,1,1\n2,3,1,1\n", ":3: submit_s: 3 is earlier than 9"},
      {"submit_s,gpus,duration_s,model\n0,1,1,res5O\n",
       ":2: model: no profile of that name: 'res5O'; did you mean 'res50'?"},
      {"", ":1: no jobs: the file is empty"},
      {"job_id,submit_s,gpus,duration_s\n", ":1: no jobs: nothing after the header"},
      {std::string("\x7f"
                   "ELF\0\x01",
                   6),
       ":1: not a text file"},
  };
  for (const auto& bad : cases) {
    const std::string name = file("bad.csv", bad.content);
    expect_refused(muster("sim --cluster 2x4 --trace " + name), name + bad.what);
    expect_refused(muster("trace info " + name), name + bad.what);
  }
  expect_refused(muster("sim --trace " + path("none.csv")), path("none.csv") + ": no such file");
  expect_refused(muster("sim --trace " + dir_.string()), dir_.string() + ": a directory");
  expect_refused(muster("trace info " + dir_.string()), dir_.string() + ": a directory");
}

TEST_F(Cli, RefusesABadOptionInOneLineWithTheNearestRightValue) {
  const struct {
    const char* options;
    const char* what;
  } cases[] = {
      {"--policy srft", "--policy: unknown policy 'srft'; did you mean 'srtf'?"},
      {"--policy fifo,srft", "'srft'; did you mean 'srtf'?"},
      {"--policy zzz", "one of: fifo, fit-first"},
      {"--policy fifo,", "unknown policy ''"},
      {"--mechanism tun", "--mechanism: unknown mechanism 'tun'; did you mean 'tune'?"},
      {"--placement yarm", "--placement: unknown placement 'yarm'; did you mean 'yarn'?"},
      {"--format tiresia", "'tiresia'; did you mean 'tiresias'?"},
      {"--compat tiresas", "--compat: unknown simulator 'tiresas'; did you mean 'tiresias'?"},
      {"--estimates orcle", "--estimates: unknown source 'orcle'; did you mean 'oracle'?"},
      {"--estimates progress", "--estimates: 'progress' needs progress reports of live jobs"},
      {"--estimates noisy:x", "--estimates noisy: not a number: 'x'"},
      {"--estimates noisy:-1", "sigma is not between 0 and 10: '-1'"},
      {"--cluster 4", "--cluster '4': not a file, and not NODESxGPUS"},
      {"--cluster 0x4", "nodes: 0 is not between 1 and 100000"},
      {"--cluster 4x100", "GPUs per node: 100 is not between 1 and 64"},
      {"--cluster 4x4,cpu=3", "unknown key 'cpu'; did you mean 'cpus'?"},
      {"--cluster none.yaml", "none.yaml: no such file"},
      {"--profiles none.yaml", "none.yaml: no such file"},
      {"--round 0", "--round: must be positive"},
      {"--round -5", "--round: negative: '-5'"},
      {"--round 5x", "--round: not a duration: '5x'; write 300s"},
      {"--checkpoint-cost x", "--checkpoint-cost: not a duration: 'x'"},
      {"--window 5", "--window '5': write FIRST:LAST"},
      {"--window 3:2", "FIRST must be less than LAST"},
      {"--window 0:9", "--window '0:9': the trace has 4 jobs"},
      {"--window a:b", "--window 'a:b': not a whole number: 'a'"},
      {"--seed abc", "--seed: not a whole number: 'abc'"},
      {"--seed -1", "--seed: negative: '-1'"},
      {"--seed 99999999999999999999", "--seed: number too large"},
      {"--polcy fifo", "unknown option '--polcy'; did you mean '--policy'?"},
      {"--policy", "--policy: 1 required"},
      {"more", "unknown argument 'more'"},
  };
  for (const auto& bad : cases) {
    SCOPED_TRACE(bad.options);
    expect_refused(muster("sim --trace " + good_ + " " + bad.options), bad.what);
  }
}

TEST_F(Cli, WithoutArgumentsShowsTheMostUsedCommandsByTask) {
  const Output got = muster_words({});
  EXPECT_EQ(got.status, kExitDone);
  EXPECT_EQ(got.err, "");
  for (const char* each :
       {"Run jobs:\n", "  submit    ", "  queue     ", "Compare schedulers:\n"}) {
    EXPECT_NE(got.out.find(each), std::string::npos) << each << got.out;
  }
  EXPECT_EQ(got.out.find("  sweep"), std::string::npos);
}

TEST_F(Cli, RefusesWordsItDoesNotKnow) {
  EXPECT_EQ(muster("nothing-like-it").err,
            "muster: unknown command 'nothing-like-it'; see 'muster --help'\n");
  expect_refusals("", {
                          {"simm", "unknown command 'simm'; did you mean 'sim'?"},
                          {"trace", "a command is required; one of: "},
                          {"trace inf x", "unknown command 'inf'; did you mean 'info'?"},
                          {"trace info", "FILE is required; see 'muster trace info --help'"},
                          {"policies extra", "unknown argument 'extra'"},
                      });
  expect_refusals("trace generate ", {
                                         {"--jobs 0", "--jobs: must be 1 to"},
                                         {"--jobs many", "--jobs: not a number: 'many'"},
                                         {"--rate -1", "--rate: must be above 0"},
                                         {"--split 1,2", "--split: 2 values instead of 3: '1,2'"},
                                         {"--gpu-mix 0:100", "--gpu-mix: GPUs must be 1 to"},
                                         {"--durations x", "--durations 'x': write SHARE"},
                                         {"--seed 1.5", "--seed: not a whole number: '1.5'"},
                                     });
}

TEST_F(Cli, AJobThatCanNeverRunIsNamedAndCountedAndTheRunGoesOn) {
  const std::string trace = file("big.csv", std::string(kHead) + "huge,0,9,10\nsmall,0,1,10\n");
  const Output got = muster("sim --json --cluster 2x4 --trace " + trace);
  EXPECT_EQ(got.status, kExitDone);
  EXPECT_EQ(got.err, "note: job 'huge' can never run: needs 9 GPUs, the cluster has 8\n");
  const Json json = Json::parse(got.out);
  EXPECT_EQ(json["jobs"], 2);
  EXPECT_EQ(json["finished"], 1);
  EXPECT_EQ(json["rejected"], 1);
  // Printed once for any number of schedulers.
  const Output both = muster("sim --cluster 2x4 --policy fifo,srtf --trace " + trace);
  EXPECT_EQ(both.err, got.err);
  EXPECT_TRUE(has(both.out, "1/2")) << both.out;
}

TEST_F(Cli, HelpOfEverySubcommandHasAnExample) {
  for (const char* const words :
       {"--help", "sim --help", "trace --help", "trace info --help", "trace generate --help",
        "trace convert --help", "policies --help"}) {
    const Output got = muster(words);
    EXPECT_EQ(got.status, kExitDone) << words;
    EXPECT_EQ(got.err, "") << words;
    EXPECT_TRUE(has(got.out, "Example")) << words << '\n' << got.out;
    EXPECT_TRUE(has(got.out, "  muster ")) << words << '\n' << got.out;
  }
  EXPECT_EQ(muster("--version").status, kExitDone);
}

TEST_F(Cli, PoliciesListsEveryPartWithItsLine) {
  const Output got = muster("policies");
  EXPECT_EQ(got.status, kExitDone);
  const auto expect_listed = [&](const auto& table) {
    for (const auto& entry : table) {
      EXPECT_TRUE(has(got.out, "\n" + std::string(entry.name) + " ")) << entry.name;
      EXPECT_TRUE(has(got.out, entry.doc)) << entry.doc;
    }
  };
  expect_listed(policies());
  expect_listed(mechanisms());
  expect_listed(placements());
}

TEST_F(Cli, JsonHasEveryFieldOfTheDesign) {
  const Output got = muster("sim --json --cluster 2x4 --policy srtf --trace " + good_);
  EXPECT_EQ(got.status, kExitDone);
  EXPECT_EQ(got.err, "");
  const Json json = Json::parse(got.out);
  for (const char* const key :
       {"jobs", "finished", "jct_mean_s", "jct_p50_s", "jct_p95_s", "jct_p99_s", "wait_mean_s",
        "makespan_s", "preemptions", "migrations", "gpu_hours", "gpu_utilization", "events",
        "decisions", "wall_s"}) {
    ASSERT_TRUE(json.contains(key)) << key;
    EXPECT_TRUE(json[key].is_number()) << key;
  }
  EXPECT_EQ(json["digest"].get<std::string>().size(), 16U);
  EXPECT_EQ(json["policy"], "srtf");
  EXPECT_EQ(json["estimates"], "oracle");
  EXPECT_EQ(json["jobs"], 4);
  EXPECT_EQ(json["finished"], 4);
  EXPECT_EQ(json["makespan_s"], 100);
  const Json two = Json::parse(muster("sim --json --policy fifo,srtf --trace " + good_).out);
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(two[1]["policy"], "srtf");
}

TEST_F(Cli, ListsAreComparedInATableWithTheGainInTheLastColumn) {
  const Output got =
      muster("sim --cluster 2x4 --policy fifo,srtf --mechanism proportional,tune --trace " + good_);
  EXPECT_EQ(got.status, kExitDone);
  const std::vector<std::string_view> lines = split(got.out, '\n');
  ASSERT_EQ(lines.size(), 8U) << got.out;  // Header, rule, four runs, what gain means, the end.
  EXPECT_TRUE(lines[0].ends_with("gain")) << got.out;
  EXPECT_TRUE(lines[2].starts_with("fifo"));
  EXPECT_TRUE(lines[3].ends_with("x")) << got.out;
  EXPECT_TRUE(lines[5].starts_with("srtf"));
  EXPECT_TRUE(has(std::string(lines[5]), "tune"));
}

TEST_F(Cli, EstimatesOfUsersWhoGaveNoneAreRefused) {
  const Output got = muster("sim --policy srtf --estimates user --trace " + good_);
  EXPECT_EQ(got.status, kExitBadInput);
  EXPECT_TRUE(has(got.err, "--estimates user: no job of")) << got.err;
}

TEST_F(Cli, WhatWouldBeIgnoredOrLostIsRefusedBeforeTheRun) {
  const auto refused = [](const std::string& words) {
    const Output got = muster(words);
    EXPECT_EQ(got.status, kExitBadInput) << words;
    EXPECT_EQ(std::count(got.err.begin(), got.err.end(), '\n'), 1) << got.err;
    return got.err;
  };
  EXPECT_EQ(muster_words({"sim", "--trace", ""}).err, "muster: --trace: must not be empty\n");
  EXPECT_EQ(refused("sim --format muster"), "muster: --format: requires --trace\n");
  EXPECT_EQ(refused("sim --throughputs x"), "muster: --throughputs: requires --trace\n");
  EXPECT_TRUE(has(refused("sim --out " + good_), "not a directory"));
  EXPECT_TRUE(has(refused("sim --compat synergy --round 0.5s"), "shorter than one iteration"));
  EXPECT_TRUE(has(refused("sim --policy las --round 7s"), "so they make no progress"));
  EXPECT_TRUE(has(refused("sim --trace a\nb"), "a\\x0ab"));
}

TEST_F(Cli, TheWindowRestrictsTheStatistics) {
  const std::string sim = "sim --json --cluster 1x8 --trace " + good_;
  const Json all = Json::parse(muster(sim).out);
  const Json some = Json::parse(muster(sim + " --window 1:3").out);
  EXPECT_EQ(all["jct_mean_s"], 52.5);
  EXPECT_EQ(some["jobs"], 2);
  EXPECT_EQ(some["jct_mean_s"], 40);
  EXPECT_EQ(some["makespan_s"], all["makespan_s"]);
  EXPECT_EQ(some["digest"], all["digest"]);
}

TEST_F(Cli, OutWritesTheFiveFiles) {
  const std::string sim = "sim --cluster 2x4 --trace " + good_ + " --out ";
  EXPECT_EQ(muster(sim + path("run")).status, kExitDone);
  const char* const files[] = {"jobs.csv", "leases.csv", "timeline.csv", "summary.json",
                               "trace.perfetto.json"};
  for (const char* const name : files) EXPECT_GT(fs::file_size(dir_ / "run" / name), 0U) << name;
  const std::string jobs = slurp(dir_ / "run" / "jobs.csv");
  EXPECT_EQ(std::count(jobs.begin(), jobs.end(), '\n'), 5);
  EXPECT_EQ(Json::parse(slurp(dir_ / "run" / "summary.json"))["finished"], 4);
  EXPECT_TRUE(Json::accept(slurp(dir_ / "run" / "trace.perfetto.json")));
  // The same bytes again, except the elapsed time.
  EXPECT_EQ(muster(sim + path("again")).status, kExitDone);
  for (const char* const name : files) {
    if (std::string(name) == "summary.json") continue;
    EXPECT_EQ(slurp(dir_ / "run" / name), slurp(dir_ / "again" / name)) << name;
  }
  // One directory per run.
  EXPECT_EQ(muster(sim + path("many") + " --policy fifo,sjf --estimates oracle,noisy:1").status,
            kExitDone);
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_ / "many"), fs::directory_iterator()), 4);
  // A place that cannot be written is a failure, not bad usage.
  const Output refused = muster(sim + good_ + "/run");
  EXPECT_EQ(refused.status, kExitFailed);
  EXPECT_TRUE(has(refused.err, "good.csv/run")) << refused.err;
}

TEST_F(Cli, AGeneratedTraceReadsBack) {
  const std::string generate = "trace generate --jobs 50 --rate 20 --gpu-mix multi --seed 3";
  const Output printed = muster(generate);
  EXPECT_EQ(printed.status, kExitDone);
  EXPECT_EQ(muster(generate + " --out " + path("jobs.csv")).out, "");
  EXPECT_EQ(slurp(dir_ / "jobs.csv"), printed.out);
  EXPECT_NE(muster("trace generate --jobs 50 --rate 20 --gpu-mix multi --seed 4").out, printed.out);
  const Output info = muster("trace info --json " + path("jobs.csv"));
  EXPECT_EQ(info.status, kExitDone) << info.err;
  const Json json = Json::parse(info.out);
  EXPECT_EQ(json["jobs"], 50);
  EXPECT_EQ(json["format"], "muster");
  EXPECT_TRUE(has(muster("trace info " + path("jobs.csv")).out, "50"));
  const Json run = Json::parse(muster("sim --json --trace " + path("jobs.csv")).out);
  EXPECT_EQ(run["finished"], 50);
}

TEST_F(Cli, TheSameRunGivesTheSameWords) {
  const std::string trace = path("jobs.csv");
  muster("trace generate --jobs 60 --rate 60 --gpu-mix multi --out " + trace);
  const std::string sim =
      "sim --json --cluster 2x8 --policy las,srtf --mechanism tune --placement "
      "random --estimates noisy:0.5 --seed 9 --trace " +
      trace;
  Json first = Json::parse(muster(sim).out);
  Json second = Json::parse(muster(sim).out);
  for (Json* runs : {&first, &second}) {
    for (Json& run : *runs) run.erase("wall_s");
  }
  EXPECT_EQ(first, second);
}

}  // namespace
}  // namespace muster
