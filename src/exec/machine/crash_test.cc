// Tests in which the shim, the daemon or both are killed or stopped, or records are damaged.

#include <sys/wait.h>

#include <thread>

#include "exec/machine/lease_fixture.h"
#include "exec/machine/local_executor.h"

namespace muster {
namespace {

using Crash = LeaseTest;

// A job with a child that leaves its group and session.
std::string two_processes() {
  return "setsid sh -c 'echo $$ >far; exec sleep 1000' & echo $$ >near; exec sleep 1000";
}

TEST_F(Crash, AKilledShimTakesTheJobAlongAndIsReportedLost) {
  for (const bool grouped : {false, true}) {
    LaunchSpec spec = shell(two_processes());
    if (grouped && !with_group(spec)) continue;
    std::filesystem::remove(scratch_ + "/near");
    std::filesystem::remove(scratch_ + "/far");
    start(spec);
    const StartedFacts facts = started();
    const pid_t near = pid_in(scratch_ + "/near");
    const pid_t far = pid_in(scratch_ + "/far");
    EXPECT_TRUE(alive(near) && alive(far));
    ::kill(facts.pid, SIGKILL);
    const ExecEvent event = wait_for(ExecEvent::Kind::kLost);
    EXPECT_EQ(event.lease, lease_name(spec));
    EXPECT_EQ(event.why, "the shim ended without a report");
    EXPECT_FALSE(alive(near));
    EXPECT_FALSE(alive(far));
    EXPECT_TRUE(ControlGroup::find(group_parent_, spec.token).empty());
  }
}

TEST_F(Crash, AShimKilledWhileNobodyWatchedIsFoundLost) {
  const LaunchSpec spec = shell(two_processes());
  start(spec);
  const StartedFacts facts = started();
  const pid_t far = pid_in(scratch_ + "/far");
  open();
  ::kill(facts.pid, SIGKILL);
  ::waitpid(facts.pid, nullptr, 0);
  EXPECT_EQ(executor_->adopt(lease_name(spec)).value(), Found::What::kLost);
  wait_for(ExecEvent::Kind::kLost);
  EXPECT_FALSE(alive(far));
  // A repeated order does not run it again.
  open();
  EXPECT_FALSE(executor_->start(spec));
  wait_for(ExecEvent::Kind::kLost);
}

TEST_F(Crash, ACopiedMarkHasNoEffectOnEitherLease) {
  LaunchSpec victim = shell("setsid sh -c 'echo $$ >far; exec sleep 1000' & exec sleep 1000");
  victim.mark = "m" + victim.token;
  tokens_.push_back(victim.mark);
  LaunchSpec forger = shell("MUSTER_LEASE=" + victim.mark +
                            " setsid sh -c 'echo $$ >forged; exec sleep 1000' & exec sleep 1000");
  forger.mark = "m" + forger.token;
  tokens_.push_back(forger.mark);
  start(victim);
  const StartedFacts facts = started();
  start(forger);
  started();
  const pid_t forged = pid_in(scratch_ + "/forged");
  const pid_t far = pid_in(scratch_ + "/far");
  ::kill(facts.pid, SIGKILL);
  EXPECT_EQ(wait_for(ExecEvent::Kind::kLost).lease, lease_name(victim));
  EXPECT_FALSE(alive(far));
  EXPECT_TRUE(alive(forged));
  EXPECT_FALSE(executor_->kill(lease_name(forger)));
  EXPECT_EQ(ended().cause, EndCause::kKilled);
}

TEST_F(Crash, ALeaseOfAnEarlierVersionIsAdoptedWithItsRecordedToken) {
  LaunchSpec old = shell(two_processes());  // No mark: the token was in the environment.
  start(old);
  const StartedFacts facts = started();
  const pid_t far = pid_in(scratch_ + "/far");
  EXPECT_NE(text_of("/proc/" + std::to_string(far) + "/environ").find(old.token),
            std::string::npos);
  open();
  EXPECT_EQ(executor_->adopt(lease_name(old)).value(), Found::What::kRunning);
  wait_for(ExecEvent::Kind::kStarted);
  ::kill(facts.pid, SIGKILL);
  ::waitpid(facts.pid, nullptr, 0);
  wait_for(ExecEvent::Kind::kLost);
  EXPECT_FALSE(alive(far));
}

// Runs the work in a separate process that is killed at the end, like a daemon.
void in_a_doomed_process(const std::function<void()>& work) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    work();
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
}

TEST_F(Crash, TheShimGoesOnWithoutTheDaemonAndIsAdopted) {
  const LaunchSpec spec = shell("echo $$ >p; while ! [ -e go ]; do sleep 0.02; done; exit 5");
  in_a_doomed_process([&] {
    start(spec);
    started();
  });
  const pid_t job = pid_in(scratch_ + "/p");
  EXPECT_TRUE(alive(job));
  open();
  EXPECT_EQ(executor_->records().value(), std::vector<std::string>{lease_name(spec)});
  EXPECT_EQ(executor_->adopt(lease_name(spec)).value(), Found::What::kRunning);
  EXPECT_EQ(started().token, spec.token);
  EXPECT_EQ(executor_->status(lease_name(spec)).value().state, "running");
  std::ofstream(scratch_ + "/go") << "x";
  const ExitReport report = ended();
  EXPECT_EQ(report.cause, EndCause::kFailed);
  EXPECT_EQ(report.ranks, (std::vector<RankEnd>{{0, 5, 0}}));
}

TEST_F(Crash, WhatEndedMeanwhileIsToldFromItsReport) {
  const LaunchSpec spec = shell("exit 4");
  in_a_doomed_process([&] { start(spec); });
  ASSERT_TRUE(eventually([&] { return file_exists(Fd(), (dir(spec) + "/exit.json").c_str()); }));
  open();
  EXPECT_EQ(executor_->adopt(lease_name(spec)).value(), Found::What::kEnded);
  EXPECT_EQ(ended().ranks, (std::vector<RankEnd>{{0, 4, 0}}));
}

TEST_F(Crash, AnOrderRepeatedRunsOnce) {
  const LaunchSpec spec = shell("echo ran >>count; sleep 0.3");
  // Ten daemons at the same time; each dies after it has given the order.
  std::vector<pid_t> daemons;
  for (int i = 0; i < 10; ++i) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      auto own = LocalExecutor::open({leases_, MUSTER_SHIM, Duration::seconds(60)});
      const auto refusal = own.value().start(spec);
      ::_exit(refusal ? 1 : 0);
    }
    daemons.push_back(pid);
  }
  for (const pid_t pid : daemons) ::waitpid(pid, nullptr, 0);
  open();
  EXPECT_FALSE(executor_->start(spec));
  EXPECT_FALSE(executor_->start(spec));
  EXPECT_EQ(ended().cause, EndCause::kFinished);
  open();
  EXPECT_FALSE(executor_->start(spec));
  EXPECT_EQ(ended().cause, EndCause::kFinished);
  EXPECT_EQ(text_of(scratch_ + "/count"), "ran\n");

  LaunchSpec other = spec;
  other.cpu_milli = 77;
  EXPECT_TRUE(executor_->start(other));
}

TEST_F(Crash, ARecordWithoutAShimNeverStarted) {
  const LaunchSpec spec = shell("echo ran >>count");
  ASSERT_TRUE(make_record(leases_, spec).ok());  // The daemon died before it gave the order.
  EXPECT_EQ(executor_->adopt(lease_name(spec)).value(), Found::What::kNeverStarted);
  EXPECT_FALSE(executor_->start(spec));
  EXPECT_EQ(ended().cause, EndCause::kFinished);
  EXPECT_EQ(text_of(scratch_ + "/count"), "ran\n");

  const LaunchSpec never = shell("echo ran >>count");
  ASSERT_TRUE(make_record(leases_, never).ok());
  EXPECT_FALSE(executor_->abandon(lease_name(never)));
  EXPECT_FALSE(executor_->start(never));
  EXPECT_EQ(ended().words, "abandoned before it started");
  EXPECT_EQ(text_of(scratch_ + "/count"), "ran\n");
}

TEST_F(Crash, AShimThatRefusesIsToldInItsWords) {
  const LaunchSpec spec = shell("true");
  start(spec);
  ended();
  const LaunchSpec next = shell("true");
  ASSERT_TRUE(make_record(leases_, next).ok());
  ::mkdir((dir(next) + "/ctl").c_str(), 0700);  // Blocks the path of its socket.
  start(next);
  const ExitReport report = ended();
  EXPECT_EQ(report.cause, EndCause::kCouldNotStart);
  EXPECT_NE(report.words.find("ctl: Address already in use"), std::string::npos) << report.words;
}

TEST_F(Crash, AShimKilledAtAnyMomentNeverRunsTwiceAndLeavesNothing) {
  int came_to_run = 0;
  int i = 0;
  // Repeat until both cases occurred. On a busy machine the shim may win many times.
  for (; i < 16 || (came_to_run == i && i < 500); ++i) {
    const LaunchSpec spec = shell("echo ran >>count$MUSTER_JOB; exec sleep 1000");
    start(spec);
    const std::vector<pid_t> children = descendants(::getpid());
    ASSERT_FALSE(children.empty());
    if (i < 16) ::usleep(static_cast<useconds_t>(i * i * 100));
    if (i == 15) pid_in(scratch_ + "/count" + std::to_string(spec.job));
    ::kill(children.front(), SIGKILL);
    std::vector<ExecEvent> told;
    ASSERT_TRUE(eventually([&] {
      for (ExecEvent& event : executor_->poll()) told.push_back(std::move(event));
      return !told.empty() && told.back().kind != ExecEvent::Kind::kStarted;
    }));
    EXPECT_EQ(kill_by_mark(spec.token).killed, 0);
    const std::string count = text_of(scratch_ + "/count" + std::to_string(spec.job));
    // A new daemon repeats the order. The result is the same or more advanced.
    open();
    EXPECT_FALSE(executor_->start(spec));
    ASSERT_TRUE(eventually([&] { return !executor_->poll().empty(); }));
    EXPECT_EQ(kill_by_mark(spec.token).killed, 0);
    EXPECT_EQ(text_of(scratch_ + "/count" + std::to_string(spec.job)), count);
    EXPECT_TRUE(count.empty() || count == "ran\n");
    came_to_run += count.empty() ? 0 : 1;
  }
  EXPECT_GT(came_to_run, 0);
  EXPECT_LT(came_to_run, i);  // Otherwise the kills came too late to test anything.
}

TEST_F(Crash, AFrozenShimIsNoticedAndCanBeKilled) {
  open(Duration::micros(500'000));
  const LaunchSpec spec = shell(two_processes());
  start(spec);
  const StartedFacts facts = started();
  const pid_t near = pid_in(scratch_ + "/near");
  const pid_t far = pid_in(scratch_ + "/far");
  ::kill(facts.pid, SIGSTOP);
  const auto status = executor_->status(lease_name(spec));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "no response from the shim within 0.50 s");
  EXPECT_TRUE(alive(near));  // A shim that does not respond has not failed.
  EXPECT_FALSE(executor_->kill(lease_name(spec)));
  wait_for(ExecEvent::Kind::kLost);
  EXPECT_FALSE(alive(near));
  EXPECT_FALSE(alive(far));
}

TEST_F(Crash, ATerminatedShimStopsItsJob) {
  const LaunchSpec spec = shell(two_processes());
  start(spec);
  const pid_t far = pid_in(scratch_ + "/far");
  ::kill(started().pid, SIGTERM);
  EXPECT_EQ(ended().cause, EndCause::kStopped);
  EXPECT_FALSE(alive(far));
}

TEST_F(Crash, SpoiltRecordsAreRefusedOrLost) {
  const LaunchSpec spec = shell("true");
  run(spec);
  std::ofstream(dir(spec) + "/exit.json") << "{\"version\":1,";
  open();
  EXPECT_EQ(executor_->adopt(lease_name(spec)).value(), Found::What::kLost);
  EXPECT_EQ(wait_for(ExecEvent::Kind::kLost).why, "exit.json: not JSON");

  std::ofstream(dir(spec) + "/spec.json") << std::string(5 << 20, ' ');
  EXPECT_EQ(executor_->adopt(lease_name(spec)).error().message,
            "j1.e1: spec.json: longer than 4194304 bytes");
  std::filesystem::remove(dir(spec) + "/spec.json");
  std::filesystem::create_symlink("/etc/passwd", dir(spec) + "/spec.json");
  EXPECT_FALSE(executor_->adopt(lease_name(spec)).ok());
}

TEST_F(Crash, AJobThatDeletesItsRecordIsLost) {
  start(shell("while ! [ -e go ]; do sleep 0.02; done; rm -rf $(dirname $MUSTER_PROGRESS)"));
  wait_for(ExecEvent::Kind::kStarted);
  std::ofstream(scratch_ + "/go") << "x";
  EXPECT_EQ(wait_for(ExecEvent::Kind::kLost).why, "its record was deleted");
}

TEST_F(Crash, ARestartedMachineHasLostItsLeases) {
  const LaunchSpec spec = shell("true");
  run(spec);
  std::filesystem::remove(dir(spec) + "/exit.json");
  std::string text = text_of(dir(spec) + "/started.json");
  text.replace(text.find(boot_id()), 8, "deadbeef");
  std::ofstream(dir(spec) + "/started.json") << text;
  open();
  EXPECT_EQ(executor_->adopt(lease_name(spec)).value(), Found::What::kLost);
  EXPECT_EQ(wait_for(ExecEvent::Kind::kLost).why, "the machine was rebooted");
}

}  // namespace
}  // namespace muster
