// `muster sim --scheduler` and what goes with it: presets, queues, tenants.

#include <gtest/gtest.h>

#include <string>

#include "cli/common/testing.h"

namespace muster {
namespace {

constexpr const char* kFewJobs =
    "job_id,submit_s,gpus,duration_s,tenant\n"
    "1,0,3,5000,a\n2,0,3,5000,b\n3,20,2,3000,a\n4,30,4,100,a\n5,500,2,300,b\n";

constexpr const char* kSchedulers[] = {"philly", "tiresias", "gandiva", "optimus", "synergy"};

class SchedulerCli : public ScratchTest {
 protected:
  void expect_refused(const std::string& options, const std::string& what) const {
    SCOPED_TRACE(options);
    ScratchTest::expect_refused(muster(sim_ + options), what);
  }
  void expect_refusals(const std::string& begin, std::initializer_list<TextCase> rows) const {
    ScratchTest::expect_refusals(sim_ + begin, rows);
  }
  Json run(const std::string& options) const {
    const Output got = muster(sim_ + "--json " + options);
    EXPECT_EQ(got.status, kExitDone) << got.err;
    EXPECT_EQ(got.err, "");
    return got.status == kExitDone ? Json::parse(got.out) : Json();
  }

  std::string sim_ = "sim --cluster 2x4 --trace " + file("jobs.csv", kFewJobs) + " ";
};

TEST_F(SchedulerCli, RunsEveryPresetAndSaysWhichItWas) {
  EXPECT_EQ(run("--scheduler philly")["policy"], "philly");
  EXPECT_EQ(run("--scheduler gandiva")["scheduler"], "gandiva");
  EXPECT_EQ(run("--scheduler optimus")["round_s"], 600.0);
  const Json tiresias = run("--scheduler tiresias");
  EXPECT_EQ(tiresias["policy"], "mlfq-las");
  EXPECT_EQ(tiresias["placement"], "skew");
  const Json synergy = run("--scheduler synergy");
  EXPECT_EQ(synergy["policy"], "srtf");
  EXPECT_EQ(synergy["mechanism"], "tune");
  for (const char* const scheduler : kSchedulers) {
    EXPECT_EQ(run("--scheduler " + std::string(scheduler))["finished"], 5) << scheduler;
  }
}

TEST_F(SchedulerCli, APresetsPartsCanBeReplaced) {
  const Json json = run("--scheduler tiresias --policy las --placement yarn");
  EXPECT_EQ(json["policy"], "las");
  EXPECT_EQ(json["placement"], "yarn");
}

TEST_F(SchedulerCli, PhillysSettingsMatter) {
  const std::string philly = "--scheduler philly --acquire-timeout ";
  const Json usual = run(philly + "3m --back-off 2m --relax-after 2");
  EXPECT_EQ(usual["digest"], run(philly + "180s --back-off 120 --relax-after 2")["digest"]);
  for (const char* const other :
       {"1m --back-off 2m --relax-after 2", "3m --back-off 7m --relax-after 2",
        "3m --back-off 2m --relax-after 1", "3m --back-off 2m --relax-after never"}) {
    EXPECT_NE(usual["digest"], run(philly + other)["digest"]) << other;
  }
  EXPECT_EQ(run("--scheduler philly --relax-after 2")["digest"], usual["digest"]);
}

TEST_F(SchedulerCli, RefusesABadPreset) {
  expect_refusals(
      "",
      {
          {"--scheduler phily", "--scheduler: unknown scheduler 'phily'; did you mean 'philly'?"},
          {"--scheduler x", "--scheduler: unknown scheduler 'x'; one of: philly, tiresias"},
          {"--scheduler philly --policy srtf",
           "--policy: cannot be combined with --scheduler philly, which has no such part"},
          {"--scheduler philly --mechanism tune",
           "--mechanism: cannot be combined with --scheduler philly"},
          {"--scheduler philly --placement yarn",
           "--placement: cannot be combined with --scheduler philly"},
          {"--scheduler", "--scheduler: 1 required"},
          {"--spread maybe", "--spread: 'maybe': must be on or off"},
      });
}

TEST_F(SchedulerCli, RefusesPhillysSettingsThatMakeNoSense) {
  const std::string philly = "--scheduler philly ";
  const std::string tries = ": must be never or a number from 1 to 1000";
  for (const char* const bad : {"0", "-1", "1001", "x", "1.5", "Never"}) {
    expect_refused(philly + "--relax-after " + bad,
                   "--relax-after: '" + std::string(bad) + "'" + tries);
  }
  expect_refusals(philly,
                  {
                      {"--acquire-timeout 0", "--acquire-timeout: must be positive"},
                      {"--acquire-timeout 0s", "--acquire-timeout: must be positive"},
                      {"--acquire-timeout -3", "--acquire-timeout: negative: '-3'"},
                      {"--acquire-timeout soon", "--acquire-timeout: not a duration: 'soon'"},
                      {"--back-off x", "--back-off: not a duration: 'x'"},
                      {"--back-off -1", "--back-off: negative: '-1'"},
                  });
}

TEST_F(SchedulerCli, RefusesBadQueues) {
  const std::string mlfq = "--policy mlfq-las ";
  expect_refusals(mlfq + "--queues ",
                  {
                      {"7200s,3250s", "--queues: thresholds must be ascending: "},
                      {"100s,100s", "--queues: thresholds must be ascending: "},
                      {"0", "--queues: thresholds must be positive"},
                      {"0s,50s", "--queues: thresholds must be positive"},
                      {"many", "--queues: not a duration: 'many'"},
                      {"10s,", "--queues: not a duration: ''"},
                      {"-5", "--queues: negative: '-5'"},
                  });
  for (const char* const bad : {"0", "-1", "x", "1000001", "nan", "inf", "Off"}) {
    expect_refused(
        mlfq + "--promote " + bad,
        "--promote: '" + std::string(bad) + "': must be off or a number above 0, at most 1000000");
  }
}

TEST_F(SchedulerCli, QueuesAndPromotionMatter) {
  const std::string mlfq = "--policy mlfq-las --placement yarn --promote ";
  EXPECT_EQ(run(mlfq + "off --queues 3250s")["digest"], run(mlfq + "off")["digest"]);
  EXPECT_NE(run(mlfq + "off --queues 50s")["digest"], run(mlfq + "off")["digest"]);
  EXPECT_NE(run(mlfq + "0.01 --queues 50s")["digest"], run(mlfq + "off --queues 50s")["digest"]);
}

TEST_F(SchedulerCli, RefusesABadServiceFile) {
  expect_refused("--policy gittins --service " + path("none.txt"),
                 path("none.txt") + ": no such file");
  expect_refused("--policy gittins --service " + dir_.string(), dir_.string() + ": a directory");
  expect_refused("--policy gittins --gittins-quantum 0", "--gittins-quantum: must be positive");
  expect_refused("--policy gittins --gittins-quantum x", "--gittins-quantum: not a duration: 'x'");
}

TEST_F(SchedulerCli, RefusesBadTenants) {
  expect_refused("--tenants a=6,b=3",
                 "tenant 'b': 3 GPUs, more than the 2 left of the cluster's 8");
  expect_refused("--tenants a=8", "job '2': unknown tenant: 'b'; did you mean 'a'?");
  expect_refused("--tenants a=4,bb=4", "did you mean 'bb'?");
  expect_refused("--tenants " + path("none.yaml"), path("none.yaml") + ": no such file");
  const std::string cyclic = file("cyclic.yaml",
                                  "tenants:\n  list:\n    - {name: a, parent: b, quota: 4}\n"
                                  "    - {name: b, parent: a, quota: 4}\n");
  expect_refused("--tenants " + cyclic, cyclic + ":3: ");
  const std::string large = file("large.yaml",
                                 "tenants:\n  list:\n    - {name: a, quota: 4}\n"
                                 "    - {name: b, quota: 5}\n");
  expect_refused("--tenants " + large, large);
  for (const char* const wrong :
       {"infer,", "infer,headroom=0.9", "infer,headroom=11", "infer,b=2"}) {
    expect_refused("--tenants " + std::string(wrong), "expected infer, or infer,headroom=X");
  }
  for (const char* const scheduler : kSchedulers) {
    const std::string preset = "--scheduler " + std::string(scheduler) + " --tenants ";
    expect_refused(preset + "a=6,b=3",
                   "tenant 'b': 3 GPUs, more than the 2 left of the cluster's 8");
    expect_refused(preset + cyclic, cyclic + ":3: ");
  }
}

TEST_F(SchedulerCli, TenantsMatterUnderEveryPreset) {
  for (const char* const scheduler : kSchedulers) {
    const std::string preset = "--scheduler " + std::string(scheduler) + " --tenants ";
    const Json json = run(preset + "a=1,b=7");
    EXPECT_EQ(json["finished"], 5) << scheduler;
    EXPECT_EQ(json["tenants"], "2, shared by quota") << scheduler;
    EXPECT_EQ(json["quotas"].size(), 2u);
    EXPECT_TRUE(json["quotas"][0]["gpus"].is_number_integer());
    EXPECT_EQ(run(preset + "infer")["finished"], 5) << scheduler;
    const Json roomy = run(preset + "infer,headroom=2");
    EXPECT_EQ(roomy["finished"], 5) << scheduler;
    EXPECT_GT(roomy["quotas"][0]["gpus"].get<int>() + roomy["quotas"][1]["gpus"].get<int>(), 8);
  }
}

// Each plan put a job on a full node in quarantine, and the engine revoked it, without end.
TEST_F(SchedulerCli, GandivaPlansNothingOnANodeInQuarantine) {
  const std::string trace =
      file("quarantine.csv",
           "job_id,submit_s,gpus,duration_s,model,user,tenant,name\n"
           "j0,0,1,8572,,u1,t1,n0\nj1,1,1,3000,vgg16,u3,t0,n0\nj2,1,1,1,,u3,t0,n3\n"
           "j3,1,3,60,resnet50,u3,t1,n2\nj4,350,3,6188,,u3,t0,n0\nj5,350,3,300,,u0,t0,n2\n"
           "j6,350,3,1,vgg16,u2,t0,n0\nj7,370,3,3000,resnet50,u0,t0,n0\nj9,409,1,3000,,u0,t0,n3\n"
           "j10,413,1,300,vgg16,u2,t1,n1\nj12,780,3,60,vgg16,u2,t0,n2\nj13,826,3,3000,,u1,t0,n0\n"
           "j14,873,3,60,,u3,t0,n3\nj15,1443,1,3000,resnet50,u2,t0,n0\n"
           "j16,1443,1,3000,vgg16,u2,t0,n0\nj17,1443,3,1268,vgg16,u3,t0,n0\n"
           "j19,1476,3,3000,vgg16,u0,t0,n1\nj20,1498,2,3000,,u0,t0,n2\n");
  const Output got = muster("sim --json --trace " + trace +
                            " --cluster 3x1 --seed 5682 --scheduler gandiva --failures on "
                            "--retry adaptive");
  EXPECT_EQ(got.status, kExitDone) << got.err;
  EXPECT_EQ(Json::parse(got.out)["unfinished"], 0);
}

TEST_F(SchedulerCli, AListComparesSchedulersOnOneFooting) {
  const Json rows = run("--scheduler philly,tiresias,gandiva,optimus,synergy --failures on");
  ASSERT_EQ(rows.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(rows[i]["scheduler"], kSchedulers[i]);
  const Output table = muster(sim_ + "--scheduler philly,synergy");
  EXPECT_TRUE(has(table.out, "synergy: srtf")) << table.out;
  EXPECT_TRUE(has(table.out, "gain: mean JCT of the first row divided by")) << table.out;
}

TEST_F(SchedulerCli, RefusesNonsenseAboutGandivaAndOptimus) {
  const std::string gandiva = "--scheduler gandiva ";
  expect_refusals(
      gandiva, {
                   {"--slice 0", "--slice: must be positive"},
                   {"--slice 1s", "--suspend-cost: 1.00 s must be less than the --slice of 1.00 s"},
                   {"--jobs-per-gpu 0", "--jobs-per-gpu: '0': must be a number from 1 to 64"},
                   {"--elastic 4", "--elastic: '4': must be MIN-MAX, such as 1-16"},
                   {"--elastic 4-2", "MIN must not be greater than MAX"},
                   {"--elastic 0-2", "--elastic: '0': must be a number from 1 to 4096"},
               });
  expect_refused(gandiva + "--pairs " + path("none.csv"), path("none.csv"));
  expect_refused(gandiva + "--policy srtf",
                 "--policy: cannot be combined with --scheduler gandiva");
  expect_refused("--scheduler optimus --mechanism tune",
                 "--mechanism: cannot be combined with --scheduler");
  expect_refused("--scheduler gandivo", "did you mean 'gandiva'?");
}

TEST_F(SchedulerCli, OptimusWantsALossCurveOfEveryProfile) {
  const std::string profiles = file("p.yaml",
                                    "profiles:\n  - name: m\n"
                                    "    formula: {gpu_seconds: 0.1, cpu_seconds: 0.1}\n");
  const std::string trace =
      file("m.csv", "job_id,submit_s,gpus,duration_s,model\n1,0,1,10,\n2,0,1,10,m\n");
  ScratchTest::expect_refused(
      muster("sim --scheduler optimus --profiles " + profiles + " --trace " + trace),
      "--scheduler optimus: job '2': model 'm': the profile has no loss curve");
  const Output other =
      muster("sim --scheduler gandiva --profiles " + profiles + " --trace " + trace);
  EXPECT_EQ(other.status, kExitDone) << other.err;
}

// Refused, or a job that gives up for no time at all; not an abort.
TEST_F(SchedulerCli, ABackOffOfNothingIsRefused) {
  const Output got = muster(sim_ + "--scheduler philly --relax-after never --back-off 0");
  EXPECT_EQ(got.status, kExitBadInput) << got.err;
}

}  // namespace
}  // namespace muster
