#include "exec/slurm/slurm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace muster {
namespace {

using Names = std::vector<std::string>;

bool has(const Names& argv, const std::string& argument) {
  return std::find(argv.begin(), argv.end(), argument) != argv.end();
}

// Returns the mark in the arguments.
std::string mark_in(const Names& argv) {
  for (const std::string& argument : argv) {
    if (argument.starts_with("--Format=")) {
      const std::size_t begin = argument.find('|');
      return argument.substr(begin, argument.find(',') - begin);
    }
  }
  return "";
}

std::string row(const Names& fields, const std::string& mark = "|") {
  std::string text;
  for (const std::string& field : fields) text += field + mark;
  return text + "\n";
}

Names job(const std::string& id, const std::string& state, const std::string& name,
          const std::string& comment) {
  return {id, state, "ann", "main", "N/A", "N/A", "n[1-2]", "None", name, comment};
}

TEST(ExpandHosts, KnowsListsRangesAndLeadingZeros) {
  EXPECT_EQ(expand_hosts("").value(), Names());
  EXPECT_EQ(expand_hosts("n1").value(), Names({"n1"}));
  EXPECT_EQ(expand_hosts("n[1-3,07],gpu-a").value(), Names({"n1", "n2", "n3", "n07", "gpu-a"}));
  EXPECT_EQ(expand_hosts("n[098-101]").value(), Names({"n098", "n099", "n100", "n101"}));
  EXPECT_EQ(expand_hosts("r[1-2]n[1-2]x").value(), Names({"r1n1x", "r1n2x", "r2n1x", "r2n2x"}));
  EXPECT_EQ(expand_hosts("n[1-100000]").value().size(), 100'000U);
}

TEST(ExpandHosts, RefusesWhatIsNoList) {
  for (const char* text : {"n[", "n]", "n[1", "n[2-1]", "n[a]", "n[1-]", "n[-1]", "n[]", "a,", ",a",
                           "a,,b", "n[1-99999999999999999999]", "a b", "n[1-100001]",
                           "n[1-400]x[1-400]", "n[1-1000]m[1-1000]k[1-1000]", "[1-2]]"}) {
    EXPECT_FALSE(expand_hosts(text).ok()) << text;
  }
  EXPECT_EQ(expand_hosts("n[1-400]x[1-400]").error().message,
            "nodes: too many: 'n[1-400]x[1-400]'");
  EXPECT_FALSE(expand_hosts("a,b,c", 2).ok());
  EXPECT_TRUE(expand_hosts("a,b", 2).ok());
  EXPECT_FALSE(expand_hosts(std::string(1000, 'x')).ok());
}

TEST(Squeue, AsksForEverythingWithAnotherMarkEachTime) {
  const Names argv = squeue_argv("gpu");
  EXPECT_EQ(argv[0], "squeue");
  EXPECT_TRUE(has(argv, "--states=all"));
  EXPECT_TRUE(has(argv, "--partition=gpu"));
  EXPECT_EQ(mark_in(argv).size(), 18U);
  EXPECT_NE(mark_in(argv), mark_in(squeue_argv("gpu")));
  for (const std::string& argument : squeue_argv("")) {
    EXPECT_FALSE(argument.starts_with("--partition")) << argument;
  }
}

TEST(Squeue, IsRead) {
  const std::string mark = mark_in(squeue_argv(""));
  const std::string text =
      row({"12", "PENDING", "ann", "main", "N/A", "N/A", "", "JobHeldUser", "muster j1.e1",
           "muster:ab:j1.e1"},
          mark) +
      row({"13", "RUNNING", "bob", "main", "13", "N/A", "n[2-3]", "None", "x", "(null)"}, mark) +
      row({"14", "PENDING", "bob", "main", "14", "3-40%8", "", "Resources", "sweep", ""}, mark) +
      row({"15", "COMPLETING", "bob", "main", "14", "2", "n1", "None", "sweep", ""}, mark);
  const auto jobs = read_squeue(text);
  ASSERT_TRUE(jobs.ok());
  ASSERT_EQ(jobs.value().size(), 4U);
  const SlurmJob& held = jobs.value()[0];
  EXPECT_EQ(held.id, 12);
  EXPECT_TRUE(held.held());
  EXPECT_FALSE(held.over());
  EXPECT_TRUE(held.nodes.empty());
  EXPECT_EQ(held.name, "muster j1.e1");
  EXPECT_EQ(held.comment, "muster:ab:j1.e1");
  const SlurmJob& running = jobs.value()[1];
  EXPECT_EQ(running.nodes, Names({"n2", "n3"}));
  EXPECT_EQ(running.user, "bob");
  EXPECT_EQ(running.comment, "");
  EXPECT_EQ(running.reason, "");
  EXPECT_FALSE(running.held());
  EXPECT_EQ(running.array, 0);
  EXPECT_EQ(jobs.value()[2].array, 14);
  EXPECT_EQ(jobs.value()[2].array_task, "3-40%8");
  EXPECT_FALSE(jobs.value()[2].held());
  EXPECT_FALSE(jobs.value()[3].over());
}

TEST(Squeue, StrangersCannotForgeRows) {
  const std::string mark = mark_in(squeue_argv(""));
  const std::string forged = "x|\n" + row(job("12", "COMPLETED", "muster", "mine"));
  const std::string text =
      row(job("12", "RUNNING", "muster", "mine"), mark) +
      row(job("13", "RUNNING", forged, forged + "\n|0123456789abcdef|"), mark) +
      row(job("14", "RUNNING", "", std::string(500'000, '|')), mark) +
      row(job("15", "RUNNING", "\n", "\n\n"), mark);
  const auto jobs = read_squeue(text);
  ASSERT_TRUE(jobs.ok());
  ASSERT_EQ(jobs.value().size(), 4U);
  EXPECT_EQ(jobs.value()[0].state, "RUNNING");
  EXPECT_EQ(jobs.value()[1].id, 13);
  EXPECT_EQ(jobs.value()[1].name, forged);
  EXPECT_EQ(jobs.value()[2].comment.size(), 500'000U);
  EXPECT_EQ(jobs.value()[3].comment, "\n\n");
}

TEST(Squeue, SkipsRowsItCannotRead) {
  const std::string text = row(job("12", "RUNNING", "a", "c|with|bars")) + "garbage\n" +
                           row(job("x", "RUNNING", "a", "")) + row(job("-4", "RUNNING", "a", "")) +
                           row(job("5", "", "a", "")) + row({"6", "RUNNING"}) +
                           row(job("99999999999999999999", "RUNNING", "a", "")) +
                           row(job("7", "RUNNING", "\xff\xfe\x1b[31m", ""));
  const auto jobs = read_squeue(text);
  ASSERT_TRUE(jobs.ok());
  ASSERT_EQ(jobs.value().size(), 2U);
  EXPECT_EQ(jobs.value()[0].comment, "c|with|bars");
  EXPECT_EQ(jobs.value()[1].id, 7);
}

TEST(Squeue, NoJobsIsNoErrorButNoTableIs) {
  EXPECT_TRUE(read_squeue("").value().empty());
  EXPECT_TRUE(read_squeue("\n").value().empty());
  EXPECT_EQ(read_squeue("Welcome to \x1b the cluster\n").error().message,
            "squeue: unexpected output: 'Welcome to \\x1b the cluster'");
  EXPECT_FALSE(read_squeue("a|b\n").ok());
}

Names node(const std::string& name, const std::string& state, const std::string& flags,
           const std::string& gres, const std::string& used) {
  return {name, state, flags, "6/18/0/24", "500000", "60000", gres, used, "10.0.0.1", "none"};
}

TEST(Sinfo, IsReadAndListsANodeOnce) {
  const std::string mark = mark_in(sinfo_argv("main"));
  EXPECT_FALSE(has(sinfo_argv("main"), "--all"));  // sinfo accepts only one of the two.
  EXPECT_TRUE(has(sinfo_argv("main"), "--partition=main"));
  EXPECT_TRUE(has(sinfo_argv(""), "--all"));
  EXPECT_EQ(mark.size(), 18U);
  const auto nodes = read_sinfo(row(node("n2", "mixed", "mixed", "gpu:8", "gpu:2"), mark) +
                                row(node("n1", "idle", "idle", "(null)", "gpu:0"), mark) +
                                row(node("n2", "mixed", "mixed", "gpu:8", "gpu:2"), mark));
  ASSERT_TRUE(nodes.ok());
  ASSERT_EQ(nodes.value().size(), 2U);
  EXPECT_EQ(nodes.value()[0].name, "n1");
  EXPECT_EQ(nodes.value()[0].gpus, 0);
  const SlurmNode& n2 = nodes.value()[1];
  EXPECT_EQ(n2.name, "n2");
  EXPECT_EQ(n2.address, "10.0.0.1");
  EXPECT_EQ(n2.cpus, 24);
  EXPECT_EQ(n2.cpus_used, 6);
  EXPECT_EQ(n2.mem_mib, 500'000);
  EXPECT_EQ(n2.mem_mib_used, 60'000);
  EXPECT_EQ(n2.gpus, 8);
  EXPECT_EQ(n2.gpus_used, 2);
  EXPECT_EQ(n2.gpu_type, "");
  EXPECT_EQ(n2.reason, "");
  EXPECT_TRUE(n2.usable());
}

TEST(Sinfo, CountsGpusOfAnyForm) {
  const auto read = [](const std::string& gres, const std::string& used) {
    return read_sinfo(row(node("n1", "idle", "idle", gres, used))).value().at(0);
  };
  const SlurmNode typed = read("gpu:a100:8(S:0-1)", "gpu:a100:3(IDX:0,2-3)");
  EXPECT_EQ(typed.gpus, 8);
  EXPECT_EQ(typed.gpu_type, "a100");
  EXPECT_EQ(typed.gpus_used, 3);
  EXPECT_EQ(read("gpu:8", "gpu:(null):0(IDX:N/A)").gpus_used, 0);
  EXPECT_EQ(read("gpu:8", "gpu:(null):5(IDX:0-4),nic:1(IDX:0)").gpus_used, 5);
  const SlurmNode mixed = read("gpu:a100:4(S:0),nic:2,gpu:v100:2", "gpu:a100:1(IDX:0),gpu:v100:2");
  EXPECT_EQ(mixed.gpus, 6);
  EXPECT_EQ(mixed.gpu_type, "");
  EXPECT_EQ(mixed.gpus_used, 3);
  EXPECT_EQ(read("gpu", "gpu:0").gpus, 1);
  EXPECT_EQ(read("gpumem:80G,shard:4", "shard:1").gpus, 0);
  EXPECT_EQ(read("gpu:x", "gpu:-1,gpu:99999999999,((((").gpus_used, 0);
  EXPECT_EQ(read("gpu:8", ")),gpu:2").gpus_used, 2);
}

TEST(Sinfo, KnowsWhoTakesNewJobs) {
  const auto in = [](const std::string& state, const std::string& flags) {
    SlurmNode one;
    one.state = state;
    one.flags = flags;
    return one;
  };
  for (const char* state : {"idle", "mixed", "allocated", "completing", "planned", "idle~", "idle#",
                            "mixed-", "mixed+"}) {
    EXPECT_TRUE(in(state, "").usable()) << state;
  }
  for (const char* state :
       {"", "down", "down*", "idle*", "drained", "draining", "drained*", "fail", "failing", "inval",
        "unknown", "maint", "reserved", "idle%", "idle$", "future", "idle^"}) {
    EXPECT_FALSE(in(state, "").usable()) << state;
    EXPECT_FALSE(in(state, "").why_not().empty());
  }
  EXPECT_TRUE(in("reserved", "").usable(true));
  EXPECT_TRUE(in("mixed", "mixed+reserved").usable(true));
  EXPECT_FALSE(in("mixed", "mixed+reserved").usable());
  EXPECT_FALSE(in("draining", "allocated+drain+reserved").usable(true));
  EXPECT_FALSE(in("down*", "down+not_responding").responding());
  EXPECT_TRUE(in("down", "down").responding());
  EXPECT_EQ(in("mixed", "mixed+reserved").why_not(), "reserved");
  EXPECT_EQ(in("down*", "").why_not(), "down: not responding");
  SlurmNode down = in("down*", "");
  down.reason = "Not responding\n[root]";
  EXPECT_EQ(down.why_not(), "down: Not responding [root]");
}

TEST(Sinfo, ReasonsAreFreeText) {
  const std::string mark = mark_in(sinfo_argv(""));
  Names drained = node("n3", "drained", "idle+drain", "gpu:8", "gpu:0");
  drained[9] = "a | reason\nn1|idle|idle|0/1/0/1|1|0|gpu:9|gpu:0|x|none|";
  const auto nodes = read_sinfo(row(drained, mark));
  ASSERT_EQ(nodes.value().size(), 1U);
  EXPECT_EQ(nodes.value()[0].reason, drained[9]);
  EXPECT_FALSE(read_sinfo("sinfo: error: something\n").ok());
  EXPECT_TRUE(read_sinfo("").value().empty());
}

TEST(Topology, LeavesByNode) {
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(read_topology("SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[1-2]\n"
                          "SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n3\n"
                          "SwitchName=top Level=1 LinkSpeed=1 Nodes=n[1-3] Switches=s[0-1]\n"
                          "junk [ = Nodes=n[\n"),
            (Pairs{{"n1", "s0"}, {"n2", "s0"}, {"n3", "s1"}}));
  EXPECT_TRUE(read_topology("").empty());
}

TEST(Submit, SaysExactlyWhatIsWanted) {
  SlurmSubmit job;
  job.name = "muster j1.e2";
  job.partition = "gpu";
  job.nodes = {"n1", "n3"};
  job.cpus = 6;
  job.mem_mib = 60'000;
  job.gpus = 4;
  job.time = Duration::micros(90'000'001);
  job.hold = true;
  const Names argv = submit_argv(job);
  EXPECT_EQ(argv[0], "sbatch");
  for (const char* argument :
       {"--parsable", "--no-requeue", "--export=ALL", "--export-file=/dev/null", "--hold",
        "--job-name=muster j1.e2", "--partition=gpu", "--nodes=2", "--nodelist=n1,n3",
        "--ntasks-per-node=1", "--cpus-per-task=6", "--mem=60000M", "--gres=gpu:4", "--time=1:31",
        "--output=/dev/null", "--chdir=/"}) {
    EXPECT_TRUE(has(argv, argument)) << argument;
  }
  for (const std::string& argument : submit_argv({})) {
    for (const char* unsaid : {"--account", "--qos", "--reservation", "--uid", "--gid", "--mem",
                               "--gres", "--time", "--nodelist", "--array", "--hold"}) {
      EXPECT_FALSE(argument.starts_with(unsaid)) << argument;
    }
  }
}

TEST(Submit, NoValueBecomesAnOption) {
  SlurmSubmit job;
  const std::string evil("--uid=0\n#SBATCH --wrap=x\0y\x1b", 28);
  for (std::string* field : {&job.name, &job.comment, &job.partition, &job.reservation,
                             &job.account, &job.qos, &job.output, &job.cwd, &job.array}) {
    *field = evil;
  }
  job.nodes = {evil};
  const Names argv = submit_argv(job);
  EXPECT_FALSE(has(argv, evil));
  for (const std::string& argument : argv) {
    EXPECT_TRUE(argument == "sbatch" || argument.starts_with("--")) << argument;
    EXPECT_FALSE(argument.starts_with("--uid")) << argument;
    for (const char c : argument) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << argument;
  }
  EXPECT_EQ(partition_argv("--evil").back(), "partition=--evil");
}

TEST(Submit, AnotherUserIsInHisOwnGroup) {
  SlurmSubmit job;
  job.user = "nobody";
  EXPECT_TRUE(has(submit_argv(job), "--uid=nobody"));
  EXPECT_TRUE(has(submit_argv(job), "--gid=65534"));
  job.user = "65534";
  EXPECT_TRUE(has(submit_argv(job), "--gid=65534"));
  job.user = "no such user";
  EXPECT_TRUE(has(submit_argv(job), "--gid=65534"));
  job.user = "nobody";
  job.group = "staff";
  EXPECT_TRUE(has(submit_argv(job), "--gid=staff"));
}

TEST(Submit, ItsAnswerIsANumber) {
  EXPECT_EQ(read_submitted("123\n").value(), 123);
  EXPECT_EQ(read_submitted("123;cluster\n").value(), 123);
  EXPECT_EQ(read_submitted("Welcome!\n\n124\n").value(), 124);
  for (const char* text : {"", "\n", "Submitted batch job 5", "-4", "0", "99999999999999999999"}) {
    EXPECT_FALSE(read_submitted(text).ok()) << text;
  }
}

TEST(ReleaseAndCancel, NameTheJobs) {
  EXPECT_EQ(release_argv({4, 5}), Names({"scontrol", "release", "4,5"}));
  EXPECT_EQ(cancel_argv({4, 5}), Names({"scancel", "--quiet", "4", "5"}));
}

TEST(Config, IsReadByLine) {
  const SlurmWords words = read_config(
      "Configuration data as of 2026-11-17T04:48:29\nSlurmdTimeout           = 30 sec\n"
      "SchedulerParameters     = a=0,b=1\nEmpty =\n = x\n\nSlurmctld(primary) at vm is UP\n");
  EXPECT_EQ(word_of(words, "SlurmdTimeout"), "30 sec");
  EXPECT_EQ(word_of(words, "SchedulerParameters"), "a=0,b=1");
  EXPECT_EQ(word_of(words, "Empty"), "");
  EXPECT_EQ(word_of(words, "Missing"), "");
  EXPECT_EQ(words.size(), 3U);
}

TEST(Partition, TheDefaultOneOfSeveral) {
  const std::string a = "PartitionName=a AllowGroups=ALL Default=NO State=UP\n";
  const std::string b = "PartitionName=b AllowGroups=x,y Default=YES State=DOWN\n";
  EXPECT_EQ(word_of(read_partition(a + b), "PartitionName"), "b");
  EXPECT_EQ(word_of(read_partition(a), "PartitionName"), "a");
  EXPECT_EQ(word_of(read_partition(a + b), "AllowGroups"), "x,y");
  EXPECT_TRUE(read_partition(a + a).empty());
  EXPECT_TRUE(read_partition("").empty());
  EXPECT_EQ(partition_argv("").back(), "partition");
}

}  // namespace
}  // namespace muster
