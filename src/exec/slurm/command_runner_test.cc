#include "exec/slurm/command_runner.h"

#include <dirent.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <map>
#include <string>

namespace muster {
namespace {

using How = CommandResult::How;
constexpr Duration kLong = Duration::seconds(60);

std::vector<std::string> shell(const std::string& script) { return {"sh", "-c", script}; }

std::size_t open_descriptors() {
  std::size_t count = 0;
  DIR* directory = ::opendir("/proc/self/fd");
  while (::readdir(directory) != nullptr) ++count;
  ::closedir(directory);
  return count;
}

bool has_children() { return ::waitpid(-1, nullptr, WNOHANG) == 0; }

// Waits for all results and returns them by ticket.
std::map<Commands::Ticket, CommandResult> all_of(Commands& commands, std::size_t count) {
  std::map<Commands::Ticket, CommandResult> results;
  while (results.size() < count) {
    pollfd ready{commands.fd(), POLLIN, 0};
    if (::poll(&ready, 1, 30'000) != 1) break;
    for (auto& [ticket, result] : commands.poll()) results.emplace(ticket, std::move(result));
  }
  return results;
}

TEST(Commands, GiveOutputErrorsAndStatus) {
  Commands commands;
  const CommandResult good = commands.run(shell("echo out; echo err >&2; cat"), kLong, "in\n");
  EXPECT_TRUE(good.ok());
  EXPECT_EQ(good.out, "out\nin\n");
  EXPECT_EQ(good.err, "err\n");
  EXPECT_EQ(good.words, "");
  const CommandResult bad = commands.run(shell("echo 'first\nlast\x1b[3m' >&2; exit 3"), kLong);
  EXPECT_FALSE(bad.ok());
  EXPECT_EQ(bad.how, How::kEnded);
  EXPECT_EQ(bad.status, 3);
  EXPECT_EQ(bad.words, "sh: last [3m");
  EXPECT_EQ(commands.run(shell("exit 4"), kLong).words, "sh: ended with status 4");
  const CommandResult killed = commands.run(shell("kill -9 $$"), kLong);
  EXPECT_EQ(killed.how, How::kKilled);
  EXPECT_EQ(killed.words, "sh: killed by signal 9");
}

TEST(Commands, AnEmptyInputIsTheEndOfIt) {
  Commands commands;
  EXPECT_EQ(commands.run({"cat"}, kLong).out, "");
  const std::string much(3 << 20, 'x');
  EXPECT_EQ(commands.run({"wc", "-c"}, kLong, much).out, "3145728\n");
  EXPECT_TRUE(commands.run({"true"}, kLong, much).ok());  // The program does not read its input.
}

TEST(Commands, WhatCannotBeStartedSaysSo) {
  Commands commands;
  const CommandResult missing = commands.run({"no-such-program"}, kLong);
  EXPECT_EQ(missing.how, How::kNotStarted);
  EXPECT_EQ(missing.words, "no-such-program: not found in PATH");
  EXPECT_EQ(commands.run({"/etc/passwd"}, kLong).how, How::kNotStarted);
  EXPECT_EQ(commands.run({"/tmp"}, kLong).how, How::kNotStarted);
  EXPECT_EQ(commands.run({}, kLong).how, How::kNotStarted);
  EXPECT_EQ(commands.run({""}, kLong).how, How::kNotStarted);
  EXPECT_EQ(commands.run({"echo", std::string("a\0b", 3)}, kLong).how, How::kNotStarted);
  EXPECT_EQ(commands.running(), 0U);
  // poll() returns it too, and fd() becomes readable.
  const auto ticket = commands.start({"no-such-program"}, kLong);
  const auto results = all_of(commands, 1);
  EXPECT_EQ(results.at(ticket).how, How::kNotStarted);
}

TEST(Commands, WhatTakesTooLongIsKilledWithAllItStarted) {
  char name[] = "/tmp/muster-commands-test-XXXXXX";
  const std::string scratch = ::mkdtemp(name);
  Commands commands;
  const auto begin = std::chrono::steady_clock::now();
  const CommandResult late =
      commands.run(shell(fmt::format("echo some; sleep 300 & echo $! > {}/pid; wait", scratch)),
                   Duration::seconds(2));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
  EXPECT_EQ(late.how, How::kTimedOut);
  EXPECT_FALSE(late.ok());
  EXPECT_EQ(late.words, "sh: no response within 2.00 s");
  EXPECT_EQ(late.out, "some\n");
  EXPECT_EQ(commands.run(shell("echo retrying >&2; sleep 300"), Duration::seconds(2)).words,
            "sh: no response within 2.00 s: retrying");
  pid_t sleeper = 0;
  std::ifstream(scratch + "/pid") >> sleeper;
  ASSERT_GT(sleeper, 1);
  for (int i = 0; i < 100 && ::kill(sleeper, 0) == 0; ++i) {
    std::ifstream stat(fmt::format("/proc/{}/stat", sleeper));
    std::string pid, program, state;
    if (stat >> pid >> program >> state && state == "Z")
      break;  // The process that adopted it may be slow.
    ::usleep(20'000);
    ASSERT_LT(i, 99);
  }
  const std::string clean = "rm -r " + scratch;
  EXPECT_EQ(::system(clean.c_str()), 0);
}

TEST(Commands, DoNotWaitForWhatAProgramLeftBehind) {
  Commands commands;
  const CommandResult result = commands.run(shell("sleep 300 & echo said"), kLong);
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.out, "said\n");
}

TEST(Commands, SeveralAtATime) {
  Commands commands;
  const auto slow = commands.start(shell("sleep 0.2; echo slow"), kLong);
  const auto quick = commands.start(shell("echo quick"), kLong);
  const auto late = commands.start(shell("sleep 300"), Duration::micros(100'000));
  EXPECT_EQ(commands.running(), 3U);
  EXPECT_EQ(commands.run(shell("sleep 0.4; echo mine"), kLong).out, "mine\n");
  const auto results = all_of(commands, 3);
  ASSERT_EQ(results.size(), 3U);
  EXPECT_EQ(results.at(slow).out, "slow\n");
  EXPECT_EQ(results.at(quick).out, "quick\n");
  EXPECT_EQ(results.at(late).how, How::kTimedOut);
  EXPECT_EQ(commands.running(), 0U);
  EXPECT_TRUE(commands.poll().empty());
  pollfd ready{commands.fd(), POLLIN, 0};
  while (has_children()) ::usleep(1000);  // The killed program is not reaped yet.
  commands.poll();
  EXPECT_EQ(::poll(&ready, 1, 50), 0);  // There is nothing to do, so fd() is not readable.
}

TEST(Commands, OutputIsCapped) {
  Commands commands;
  const CommandResult result =
      commands.run(shell("head -c 70000000 /dev/zero; head -c 100000 /dev/zero >&2"), kLong);
  EXPECT_TRUE(result.cut);
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.out.size(), Commands::kMaxOutput);
  EXPECT_EQ(result.err.size(), Commands::kMaxError);
  EXPECT_EQ(result.words, "sh: output longer than 64 MiB");
  // A program that writes forever is killed.
  EXPECT_EQ(commands.run({"cat", "/dev/zero"}, Duration::micros(200'000)).how, How::kTimedOut);
}

TEST(Commands, LeaveNothingBehind) {
  const std::size_t before = open_descriptors();
  {
    Commands commands;
    for (int i = 0; i < 20; ++i) {
      commands.run(shell("echo x"), kLong);
      commands.run({"no-such-program"}, kLong);
      commands.run(shell("sleep 300"), Duration::micros(1000));
    }
    for (int i = 0; i < 1000 && open_descriptors() > before + 2; ++i) {
      ::usleep(10'000);
      commands.poll();  // Reaps killed programs.
    }
    EXPECT_EQ(open_descriptors(), before + 2);
    commands.start(shell("sleep 300 & sleep 300"), kLong);
  }
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);  // No child is left, not even a zombie.
}

TEST(Commands, ProgramsSeeThreeDescriptorsAndAnEnvironmentThatSteersNothing) {
  ::setenv("SQUEUE_PARTITION", "other", 1);
  ::setenv("SBATCH_ACCOUNT", "other", 1);
  ::setenv("SLURM_JOB_ID", "7", 1);
  ::setenv("SLURM_CONF", "/ours", 1);
  ::setenv("MUSTER_TEST_OWN", "kept", 1);
  Commands commands({"SLURM_CONF=/theirs", "EXTRA=1"});
  const std::string env = "\n" + commands.run({"env"}, kLong).out;
  for (const char* gone : {"SQUEUE_PARTITION", "SBATCH_ACCOUNT", "SLURM_JOB_ID", "/ours"}) {
    EXPECT_EQ(env.find(gone), std::string::npos) << gone;
  }
  for (const char* there : {"\nSLURM_CONF=/theirs\n", "\nEXTRA=1\n", "\nMUSTER_TEST_OWN=kept\n"}) {
    EXPECT_NE(env.find(there), std::string::npos) << there;
  }
  EXPECT_NE(Commands().run({"env"}, kLong).out.find("SLURM_CONF=/ours"), std::string::npos);
  const int open = ::dup(2);
  EXPECT_EQ(commands.run(shell("ls /proc/$$/fd"), kLong).out, "0\n1\n2\n");
  ::close(open);
  for (const char* name : {"SQUEUE_PARTITION", "SBATCH_ACCOUNT", "SLURM_JOB_ID", "SLURM_CONF"}) {
    ::unsetenv(name);
  }
}

TEST(Commands, FindProgramsByThePathTheyAreGiven) {
  char name[] = "/tmp/muster-commands-test-XXXXXX";
  const std::string scratch = ::mkdtemp(name);
  std::ofstream(scratch + "/squeue") << "#!/bin/sh\necho fake \"$@\"\n";
  Commands commands({"PATH=" + scratch + ":/usr/bin:/bin"});
  EXPECT_FALSE(commands.find("squeue-that-is-not"));
  const std::string program = "chmod +x " + scratch + "/squeue";
  EXPECT_EQ(::system(program.c_str()), 0);
  EXPECT_EQ(commands.find("squeue"), scratch + "/squeue");
  EXPECT_EQ(commands.run({"squeue", "$HOME; *", ""}, kLong).out, "fake $HOME; * \n");
  const std::string clean = "rm -r " + scratch;
  EXPECT_EQ(::system(clean.c_str()), 0);
}

}  // namespace
}  // namespace muster
