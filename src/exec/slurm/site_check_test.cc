#include "exec/slurm/site_check.h"
#include "base/os/testing.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>

namespace muster {
namespace {

using Level = SiteFinding::Level;

// "warn KillWait", or "" if it is not among them.
Level level_of(const SiteFindings& findings, const std::string& check) {
  for (const SiteFinding& finding : findings) {
    if (finding.check == check) return finding.level;
  }
  ADD_FAILURE() << "nothing about " << check;
  return Level::kOk;
}

std::string words_of(const SiteFindings& findings, const std::string& check) {
  for (const SiteFinding& finding : findings) {
    if (finding.check == check) return finding.words;
  }
  return "";
}

const SlurmWords kGood = {{"SelectType", "select/cons_tres"},
                          {"SelectTypeParameters", "CR_CORE_MEMORY"},
                          {"GresTypes", "gpu,nic"},
                          {"SchedulerParameters", "bf_interval=30,batch_sched_delay=0"},
                          {"MinJobAge", "300 sec"},
                          {"JobRequeue", "1"},
                          {"SlurmdTimeout", "60 sec"},
                          {"KillWait", "30 sec"},
                          {"TaskPlugin", "task/cgroup,task/affinity"},
                          {"ProctrackType", "proctrack/cgroup"},
                          {"PreemptType", "preempt/none"}};

SlurmWords with(SlurmWords words, const std::string& key, const std::string& value) {
  for (auto& word : words) {
    if (word.first == key) word.second = value;
  }
  words.emplace_back(key, value);
  return words;
}

const SiteCaller kRoot = {true, "root", {"root"}};
const SiteCaller kAnn = {false, "ann", {"staff", "ml"}};

TEST(SiteConfig, AGoodOneIsGood) {
  for (const SiteFinding& finding : judge_select(kGood)) {
    EXPECT_EQ(finding.level, Level::kOk) << finding.check << ": " << finding.words;
  }
  for (const SiteFinding& finding : judge_settings(kGood, {}, kRoot)) {
    EXPECT_EQ(finding.level, Level::kOk) << finding.check << ": " << finding.words;
  }
}

TEST(SiteConfig, SaysWhatWillNotWork) {
  const auto select = [](const std::string& key, const std::string& value) {
    return judge_select(with(kGood, key, value));
  };
  EXPECT_EQ(level_of(select("SelectType", "select/linear"), "SelectType"), Level::kFail);
  EXPECT_EQ(level_of(select("SelectType", "select/cons_res"), "SelectType"), Level::kWarn);
  EXPECT_EQ(level_of(select("SelectTypeParameters", "CR_CPU"), "SelectTypeParameters"),
            Level::kWarn);
  EXPECT_EQ(level_of(select("SelectTypeParameters", "CR_SOCKET_MEMORY"), "SelectTypeParameters"),
            Level::kWarn);
  EXPECT_EQ(level_of(select("GresTypes", "(null)"), "GresTypes"), Level::kFail);
  const struct {
    const char* key;
    const char* value;
    const char* check;
    const char* says;
  } worse[] = {
      {"MinJobAge", "2 sec", "MinJobAge", "set MinJobAge=300"},
      {"SlurmdTimeout", "0 sec", "SlurmdTimeout", "never marks an unresponsive node as down"},
      {"SlurmdTimeout", "300 sec", "SlurmdTimeout", "after about 510 s"},
      {"KillWait", "5 sec", "KillWait", "set KillWait=30"},
      {"SchedulerParameters", "(null)", "start", "after about 2.8 s"},
      {"SchedulerParameters", "defer,batch_sched_delay=0", "start", "defer"},
      {"TaskPlugin", "task/none", "TaskPlugin", "use task/cgroup"},
      {"ProctrackType", "proctrack/linuxproc", "ProctrackType", "can outlive their job"},
      {"PreemptType", "preempt/qos", "PreemptType", "Slurm may end Muster's jobs"},
      {"AccountingStorageEnforce", "associations,limits", "account", "default account"}};
  for (const auto& one : worse) {
    const SiteFindings found = judge_settings(with(kGood, one.key, one.value), {}, kRoot);
    EXPECT_EQ(level_of(found, one.check), Level::kWarn) << one.key << "=" << one.value;
    EXPECT_NE(words_of(found, one.check).find(one.says), std::string::npos)
        << words_of(found, one.check);
  }
}

TEST(SiteConfig, WhoseJobsRunAsWhom) {
  EXPECT_EQ(level_of(judge_settings(kGood, {}, kRoot), "rights"), Level::kOk);
  EXPECT_EQ(words_of(judge_settings(kGood, {}, kAnn), "rights"),
            "not root: jobs of all users run as 'ann'; run muster serve as root to run them as "
            "their users");
  const SlurmWords hidden = with(kGood, "PrivateData", "jobs,usage");
  EXPECT_EQ(level_of(judge_settings(hidden, {}, kAnn), "PrivateData"), Level::kWarn);
  EXPECT_EQ(words_of(judge_settings(hidden, {}, kRoot), "PrivateData"), "");
}

TEST(SiteConfig, VersionsMustBeOneAndKnown) {
  EXPECT_EQ(judge_versions({{"sbatch", "slurm-wlm 22.05.8\n"}, {"srun", "slurm-wlm 22.05.8\n"}})
                .at(0)
                .words,
            "Slurm 22.05.8");
  const auto mixed = judge_versions({{"sbatch", "slurm 22.05.8"}, {"srun", "slurm 23.11.1"}});
  EXPECT_EQ(mixed[0].words, "sbatch is 22.05.8, srun is 23.11.1: use commands of the same version");
  EXPECT_EQ(judge_versions({{"sbatch", "slurm 24.05.1"}})[0].level, Level::kWarn);
  EXPECT_EQ(judge_versions({{"sbatch", ""}})[0].level, Level::kWarn);
}

TEST(SiteConfig, Clocks) {
  EXPECT_EQ(judge_skew("controller", 0.5).level, Level::kOk);
  EXPECT_EQ(judge_skew("controller", -30).level, Level::kWarn);
  EXPECT_NE(judge_skew("controller", -30).words.find("30 s behind this machine"),
            std::string::npos);
  EXPECT_EQ(judge_skew("n1", 400).level, Level::kFail);
}

const SlurmWords kMain = {{"PartitionName", "main"}, {"State", "UP"},          {"TotalNodes", "4"},
                          {"AllowGroups", "ALL"},    {"AllowAccounts", "ALL"}, {"AllowQos", "ALL"},
                          {"MaxTime", "UNLIMITED"},  {"OverSubscribe", "NO"},  {"RootOnly", "NO"},
                          {"ReqResv", "NO"}};

TEST(SitePartition, MaySubmitOrNot) {
  for (const SiteFinding& finding : judge_partition(kMain, {}, kAnn)) {
    EXPECT_EQ(finding.level, Level::kOk) << finding.check << ": " << finding.words;
  }
  const auto judged = [](const std::string& key, const std::string& value, const SiteCaller& caller,
                         const SiteQuestion& question = {}) {
    return judge_partition(with(kMain, key, value), question, caller);
  };
  EXPECT_EQ(level_of(judged("State", "DOWN", kAnn), "partition"), Level::kFail);
  EXPECT_EQ(level_of(judged("RootOnly", "YES", kAnn), "RootOnly"), Level::kFail);
  EXPECT_EQ(words_of(judged("RootOnly", "YES", kRoot), "RootOnly"), "");
  EXPECT_EQ(level_of(judged("AllowGroups", "other,more", kAnn), "AllowGroups"), Level::kFail);
  EXPECT_EQ(words_of(judged("AllowGroups", "other,ml", kAnn), "AllowGroups"), "");
  EXPECT_EQ(level_of(judged("AllowGroups", "other", kRoot), "AllowGroups"), Level::kWarn);
  SiteQuestion question;
  EXPECT_EQ(level_of(judged("AllowAccounts", "a,b", kAnn), "AllowAccounts"), Level::kWarn);
  question.account = "c";
  EXPECT_EQ(level_of(judged("AllowAccounts", "a,b", kAnn, question), "AllowAccounts"),
            Level::kFail);
  question.account = "b";
  EXPECT_EQ(words_of(judged("AllowAccounts", "a,b", kAnn, question), "AllowAccounts"), "");
  EXPECT_EQ(level_of(judged("ReqResv", "YES", kAnn), "ReqResv"), Level::kFail);
  EXPECT_EQ(level_of(judged("MaxTime", "1-00:00:00", kAnn), "MaxTime"), Level::kWarn);
  EXPECT_EQ(level_of(judged("OverSubscribe", "EXCLUSIVE", kAnn), "OverSubscribe"), Level::kFail);
  EXPECT_EQ(level_of(judged("OverSubscribe", "FORCE:4", kAnn), "OverSubscribe"), Level::kWarn);
  EXPECT_EQ(level_of(judged("MaxMemPerNode", "1000", kAnn), "MaxMemPerNode"), Level::kWarn);
  EXPECT_EQ(level_of(judge_partition({}, {}, kAnn), "partition"), Level::kFail);
}

TEST(SiteNodes, WithAndWithoutGpus) {
  SlurmNode good;
  good.name = "n1";
  good.state = "idle";
  good.gpus = 8;
  SlurmNode bare = good;
  bare.name = "n2";
  bare.gpus = 0;
  SlurmNode down = good;
  down.name = "n3";
  down.state = "down*";
  EXPECT_EQ(words_of(judge_nodes({good}, false), "GPUs"), "8 on 1 nodes, 0 in use");
  EXPECT_EQ(words_of(judge_nodes({good, bare}, false), "GPUs"),
            "8, 0 in use; none on 1 of 2 nodes: n2");
  EXPECT_EQ(level_of(judge_nodes({bare}, false), "GPUs"), Level::kFail);
  EXPECT_EQ(words_of(judge_nodes({good, down}, false), "nodes"),
            "1 of 2 accept jobs; not: n3 (down: not responding)");
  EXPECT_EQ(level_of(judge_nodes({down}, false), "nodes"), Level::kFail);
  EXPECT_EQ(level_of(judge_nodes({}, false), "nodes"), Level::kFail);
}

// A directory of fake commands.
class SiteTest : public ::testing::Test {
 protected:
  void program(const std::string& name, const std::string& script) const {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    ::chmod(path.c_str(), 0755);
  }
  void all_programs(const std::string& script) const {
    for (const char* name : {"sbatch", "squeue", "sinfo", "scontrol", "scancel", "srun"}) {
      program(name, "[ \"$1\" = --version ] && echo slurm 22.05.8 && exit\n" + script);
    }
  }
  SiteFindings check() {
    Commands commands({"PATH=" + folder_ + ":/usr/bin:/bin"});
    return check_site(commands, question_);
  }

  const Folder scratch_;
  const std::string folder_ = scratch_.path();
  SiteQuestion question_;
};

TEST_F(SiteTest, WithoutSlurmThereIsOneLine) {
  Commands commands({"PATH=" + folder_});
  const SiteFindings found = check_site(commands, question_);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].level, Level::kFail);
  EXPECT_EQ(found[0].check, "sbatch");
  EXPECT_TRUE(found[0].words.starts_with("not found: Slurm's commands are not in PATH"));
}

TEST_F(SiteTest, AControllerThatIsAwayIsSaidOnceAndInTime) {
  all_programs("echo 'slurm_load_ctl_conf error: Unable to contact slurm controller' >&2; exit 1");
  const SiteFindings refused = check();
  ASSERT_EQ(refused.back().check, "controller");
  EXPECT_EQ(refused.back().level, Level::kFail);
  EXPECT_TRUE(
      refused.back().words.starts_with("scontrol: slurm_load_ctl_conf error: Unable to contact "
                                       "slurm controller; check that slurmctld"))
      << refused.back().words;
  all_programs("sleep 300");
  question_.timeout = Duration::seconds(3);
  const auto begin = std::chrono::steady_clock::now();
  const SiteFindings hung = check();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
  EXPECT_TRUE(
      hung.back().words.starts_with("scontrol: no response within 3.00 s; check that slurmctld"))
      << hung.back().words;
  program("sbatch", "sleep 300");
  const SiteFindings silent = check();
  ASSERT_EQ(silent.size(), 1U);
  EXPECT_EQ(silent[0].words, "sbatch: no response within 3.00 s");
}

TEST_F(SiteTest, AnswersThatAreNoneDoNoHarm) {
  all_programs("printf 'junk\\033[31m=|\\n=\\n'");
  for (const SiteFinding& finding : check()) {
    for (const char c : finding.words) EXPECT_GE(static_cast<unsigned char>(c), 0x20);
  }
  all_programs("true");
  EXPECT_FALSE(check().empty());
}

}  // namespace
}  // namespace muster
