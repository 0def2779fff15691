// Runs Slurm's commands against a real Slurm. tests/slurm_words_test.py starts one and sets
// MUSTER_SLURM_TESTBED to its directory. Without it these tests are skipped.

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "exec/slurm/command_runner.h"
#include "exec/slurm/slurm.h"

namespace muster {
namespace {

class RealSlurm : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* bed = std::getenv("MUSTER_SLURM_TESTBED");
    if (bed == nullptr) GTEST_SKIP() << "no MUSTER_SLURM_TESTBED";
    scratch_ = std::string(bed) + "/words";
    std::filesystem::create_directory(scratch_);
    std::filesystem::permissions(scratch_, std::filesystem::perms::all);
  }

  CommandResult run(const std::vector<std::string>& argv, const std::string& input = {}) {
    return commands_.run(argv, Duration::seconds(30), input);
  }
  SlurmId submit(const SlurmSubmit& job, const std::string& script = "sleep 100") {
    const CommandResult said =
        run(submit_argv(job), "#!/bin/sh\nexport PATH=/usr/bin:/bin\n" + script + "\n");
    const auto id = read_submitted(said.out);
    EXPECT_TRUE(said.ok() && id.ok()) << said.words;
    return id.ok() ? id.value() : 0;
  }
  SlurmJob job(SlurmId id) {
    const auto jobs = read_squeue(run(squeue_argv("main")).out);
    EXPECT_TRUE(jobs.ok());
    std::vector<SlurmJob> found;
    if (jobs.ok()) {
      std::copy_if(jobs.value().begin(), jobs.value().end(), std::back_inserter(found),
                   [&](const SlurmJob& one) { return one.id == id; });
    }
    EXPECT_EQ(found.size(), 1U) << id;
    return found.empty() ? SlurmJob() : found[0];
  }
  SlurmJob wait_for(SlurmId id, const std::string& state) {
    SlurmJob found;
    for (int i = 0; i < 300; ++i) {
      found = job(id);
      if (found.state == state) return found;
      ::usleep(100'000);
    }
    ADD_FAILURE() << id << " is " << found.state << ", not " << state;
    return found;
  }
  std::string file(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(scratch_ + "/" + name).rdbuf();
    return text.str();
  }

  Commands commands_;
  std::string scratch_;
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(RealSlurm, AJobGetsExactlyWhatIsSaidAndNothingOfOurs) {
  ::setenv("MUSTER_SECRET", "leak", 1);
  Commands with_secret;
  SlurmSubmit wanted;
  wanted.name = "muster j1.e1";
  wanted.comment = "muster:ab:j1.e1 " + std::string(900, 'x');
  wanted.partition = "main";
  wanted.user = "nobody";
  wanted.nodes = {"n2", "n3"};
  wanted.cpus = 6;
  wanted.mem_mib = 60'000;
  wanted.gpus = 3;
  wanted.hold = true;
  wanted.output = scratch_ + "/out";
  const std::string script =
      "#!/bin/sh\nexport PATH=/usr/bin:/bin OURS=1\nenv; id\n"
      "srun sh -c 'echo task $SLURM_PROCID $OURS $CUDA_VISIBLE_DEVICES'\n"
      "sleep 100\n";
  const auto id =
      read_submitted(with_secret.run(submit_argv(wanted), Duration::seconds(30), script).out);
  ASSERT_TRUE(id.ok());
  const SlurmJob held = job(id.value());
  EXPECT_TRUE(held.held());
  EXPECT_EQ(held.comment, wanted.comment);
  EXPECT_EQ(held.array, 0);
  EXPECT_TRUE(run(release_argv({id.value()})).ok());
  const SlurmJob running = wait_for(id.value(), "RUNNING");
  EXPECT_EQ(running.nodes, wanted.nodes);
  EXPECT_EQ(running.user, "nobody");

  const auto nodes = read_sinfo(run(sinfo_argv("main")).out);
  ASSERT_TRUE(nodes.ok());
  for (const SlurmNode& node : nodes.value()) {
    const bool ours = node.name == "n2" || node.name == "n3";
    EXPECT_EQ(node.cpus_used, ours ? 6 : 0) << node.name;
    EXPECT_EQ(node.mem_mib_used, ours ? 60'000 : 0) << node.name;
    EXPECT_EQ(node.gpus_used, ours ? 3 : 0) << node.name;
    EXPECT_EQ(node.gpus, 8);
    EXPECT_TRUE(node.usable());
  }
  std::string out;  // The two tasks write in any order.
  for (int i = 0; i < 300 && !(has(out, "task 0") && has(out, "task 1")); ++i) {
    ::usleep(100'000);
    out = file("out");
  }
  EXPECT_TRUE(has(out, "task 0 1 0,1,2\n") && has(out, "task 1 1 0,1,2\n")) << out;
  EXPECT_TRUE(has(out, "uid=65534(nobody) gid=65534(nogroup) groups=65534(nogroup)")) << out;
  EXPECT_FALSE(has(out, "MUSTER_SECRET") || has(out, "SLURM_GET_USER_ENV")) << out;
  EXPECT_TRUE(run(cancel_argv({id.value(), 999'999})).ok());
  EXPECT_TRUE(wait_for(id.value(), "CANCELLED").over());
}

TEST_F(RealSlurm, AStrangersNameForgesNothing) {
  SlurmSubmit mine;
  mine.name = "mine";
  mine.hold = true;
  const SlurmId id = submit(mine);
  std::string forged = "x";
  for (const char* line : {"|COMPLETED|root|main|N/A|N/A||None|mine||\n", "||||||||||\n"}) {
    forged += "\n" + std::to_string(id) + line;
  }
  // Without submit_argv(), which replaces newlines.
  const CommandResult said =
      run({"sbatch", "--parsable", "--hold", "--output=/dev/null", "--job-name=" + forged,
           "--comment=\n\n" + forged, "--wrap=true"});
  const auto external_job = read_submitted(said.out);
  ASSERT_TRUE(external_job.ok()) << said.words;
  EXPECT_EQ(job(id).state, "PENDING");
  EXPECT_EQ(job(external_job.value()).name, forged);
  EXPECT_EQ(job(external_job.value()).comment, "\n\n" + forged);
  EXPECT_TRUE(run(cancel_argv({id, external_job.value()})).ok());
}

TEST_F(RealSlurm, LongListsAreWholeAndArraysKnown) {
  const auto nodes = read_sinfo(run(sinfo_argv("main")).out);
  ASSERT_TRUE(nodes.ok());
  SlurmSubmit wide;
  wide.name = "wide";
  for (std::size_t i = 1; i <= nodes.value().size(); i += 2) {
    wide.nodes.push_back("n" + std::to_string(i));
  }
  const SlurmId id = submit(wide);
  EXPECT_EQ(wait_for(id, "RUNNING").nodes, wide.nodes);
  EXPECT_TRUE(run(cancel_argv({id})).ok());
  SlurmSubmit array;
  array.name = "array";
  array.array = "0-5%2";
  array.hold = true;
  const SlurmId many = submit(array);
  EXPECT_EQ(job(many).array, many);
  EXPECT_EQ(job(many).array_task, "0-5%2");
  EXPECT_TRUE(run(cancel_argv({many})).ok());
}

TEST_F(RealSlurm, RefusalsAreOneLine) {
  SlurmSubmit wrong;
  wrong.partition = "--nosuch";
  EXPECT_TRUE(has(run(submit_argv(wrong), "#!/bin/sh\n").words, "Invalid partition name"));
  wrong.partition = "main";
  wrong.nodes = {"n1"};
  wrong.gpus = 9;
  EXPECT_TRUE(has(run(submit_argv(wrong), "#!/bin/sh\n").words, "not available"));
  EXPECT_FALSE(run(release_argv({999'999})).ok());
  EXPECT_TRUE(read_squeue(run(squeue_argv("nosuch")).out).value().empty());
  EXPECT_TRUE(read_sinfo(run(sinfo_argv("nosuch")).out).value().empty());
  EXPECT_EQ(word_of(read_partition(run(partition_argv("")).out), "PartitionName"), "main");
  EXPECT_EQ(word_of(read_config(run(config_argv()).out), "ClusterName"), "testbed");
}

TEST_F(RealSlurm, LeafSwitches) {
  const auto leaves = read_topology(run(topology_argv()).out);
  ASSERT_EQ(leaves.size(), read_sinfo(run(sinfo_argv("main")).out).value().size());
  EXPECT_EQ(leaves.front(), std::make_pair(std::string("n1"), std::string("rack1")));
  EXPECT_EQ(std::count_if(leaves.begin(), leaves.end(),
                          [](const auto& leaf) { return leaf.second == "rack2"; }),
            static_cast<std::ptrdiff_t>(leaves.size() / 2));
}

}  // namespace
}  // namespace muster
