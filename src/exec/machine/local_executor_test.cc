#include "exec/machine/local_executor.h"

#include <signal.h>

#include <algorithm>

#include "exec/machine/lease_fixture.h"

namespace muster {
namespace {

using Local = LeaseTest;

TEST_F(Local, TellsExitCodesAndSignals) {
  const ExitReport well = run(shell("exit 0"));
  EXPECT_EQ(well.cause, EndCause::kFinished);
  EXPECT_EQ(well.words, "");
  EXPECT_EQ(well.ranks, (std::vector<RankEnd>{{0, 0, 0}}));
  EXPECT_GT(well.end.boot_us, well.start.boot_us);

  const ExitReport badly = run(shell("exit 3"));
  EXPECT_EQ(badly.cause, EndCause::kFailed);
  EXPECT_EQ(badly.ranks, (std::vector<RankEnd>{{0, 3, 0}}));
  EXPECT_EQ(badly.words, "rank 0 ended with status 3");

  const ExitReport killed = run(shell("kill -SEGV $$"));
  EXPECT_EQ(killed.cause, EndCause::kFailed);
  EXPECT_EQ(killed.ranks, (std::vector<RankEnd>{{0, 0, SIGSEGV}}));
  EXPECT_EQ(killed.words, "rank 0 was killed by signal 11 (SIGSEGV)");
}

TEST_F(Local, GivesExactlyThisEnvironment) {
  ::setenv("HOME", "/", 0);  // Without these variables, the shim would set them itself.
  ::setenv("USER", "somebody", 0);
  ::setenv("SECRET_OF_THE_DAEMON", "s3cret", 1);
  ::setenv("LANG", "C.UTF-8", 1);
  ::unsetenv("TZ");
  LaunchSpec spec = this->spec({"env"});
  spec.ranks_per = RanksPer::kNode;
  spec.gpus = {2, 5};
  spec.node_rank = 1;
  spec.first_rank = 1;
  spec.world_size = 2;
  spec.cpu_milli = 3500;
  spec.master_addr = "10.0.0.7";
  spec.env = {{"MINE", "a b=c"}, {"RANK", "overruled"}};
  spec.mark = "m" + spec.token;
  EXPECT_EQ(run(spec).cause, EndCause::kFinished);
  std::vector<std::string> expected = {"CUDA_DEVICE_ORDER=PCI_BUS_ID",
                                       "CUDA_VISIBLE_DEVICES=2,5",
                                       "LANG=C.UTF-8",
                                       "LOCAL_RANK=0",
                                       "LOCAL_WORLD_SIZE=1",
                                       "MASTER_ADDR=10.0.0.7",
                                       "MASTER_PORT=29500",
                                       "MINE=a b=c",
                                       "MUSTER_EPOCH=1",
                                       "MUSTER_JOB=1",
                                       "MUSTER_LEASE=" + spec.mark,
                                       "MUSTER_PROGRESS=" + dir(spec) + "/progress.jsonl",
                                       "NODE_RANK=1",
                                       "OMP_NUM_THREADS=3",
                                       "RANK=1",
                                       "WORLD_SIZE=2"};
  for (const char* name : {"PATH", "HOME", "USER"}) {
    const char* value = std::getenv(name);
    if (value != nullptr) expected.push_back(std::string(name) + "=" + value);
  }
  std::sort(expected.begin(), expected.end());
  std::vector<std::string> got;
  std::istringstream lines(log_of(spec));
  for (std::string line; std::getline(lines, line);) got.push_back(line);
  std::sort(got.begin(), got.end());
  EXPECT_EQ(got, expected);
  ::unsetenv("SECRET_OF_THE_DAEMON");
}

TEST_F(Local, LeavesNothingOpenAndNoSignalBlocked) {
  ::signal(SIGUSR1, SIG_IGN);
  const LaunchSpec files = shell("ls /proc/$$/fd; ulimit -c; umask");
  EXPECT_EQ(run(files).cause, EndCause::kFinished);
  EXPECT_EQ(log_of(files), "0\n1\n2\n0\n0022\n");
  const LaunchSpec signals = spec({"grep", "Sig[BI]", "/proc/self/status"});
  EXPECT_EQ(run(signals).cause, EndCause::kFinished);
  ::signal(SIGUSR1, SIG_DFL);
  // Except the two that the C library reserves.
  EXPECT_EQ(log_of(signals), "SigBlk:\t0000000000000000\nSigIgn:\t0000000180000000\n");
}

TEST_F(Local, StopsWithGraceAndThenByForce) {
  const LaunchSpec polite =
      shell("trap 'echo saved; exit 0' TERM; echo $$ >p; while :; do sleep 0.02; done");
  start(polite);
  pid_in(scratch_ + "/p");
  EXPECT_FALSE(executor_->stop(lease_name(polite)));
  const ExitReport kept = ended();
  EXPECT_EQ(kept.cause, EndCause::kStopped);
  EXPECT_FALSE(kept.forced);
  EXPECT_EQ(kept.ranks, (std::vector<RankEnd>{{0, 0, 0}}));
  EXPECT_TRUE(log_of(polite).ends_with("saved\n"));

  const LaunchSpec deaf = shell("trap '' TERM; echo $$ >q; while :; do sleep 0.02; done");
  start(deaf);
  pid_in(scratch_ + "/q");
  const std::int64_t before = boot_micros();
  EXPECT_FALSE(executor_->stop(lease_name(deaf), 200));
  const ExitReport forced = ended();
  EXPECT_GE(boot_micros() - before, 200'000);
  EXPECT_EQ(forced.cause, EndCause::kStopped);
  EXPECT_TRUE(forced.forced);
  EXPECT_EQ(forced.ranks, (std::vector<RankEnd>{{0, 0, SIGKILL}}));
}

TEST_F(Local, KillsAtOnceAndEndsAtTheTimeLimit) {
  const LaunchSpec killed = shell("trap '' TERM; echo $$ >p; while :; do sleep 0.02; done");
  start(killed);
  pid_in(scratch_ + "/p");
  EXPECT_FALSE(executor_->kill(lease_name(killed)));
  EXPECT_EQ(ended().cause, EndCause::kKilled);

  LaunchSpec late = shell("sleep 100");
  late.time_limit_ms = 150;
  const ExitReport over = run(late);
  EXPECT_EQ(over.cause, EndCause::kTimeLimit);
  EXPECT_EQ(over.ranks, (std::vector<RankEnd>{{0, 0, SIGTERM}}));
  EXPECT_GE(over.end.boot_us - over.start.boot_us, 150'000);
}

TEST_F(Local, TellsWhatCouldNotStart) {
  LaunchSpec missing = spec({"no-such-program"});
  missing.env = {{"PATH", "/usr/bin:/bin"}};
  const ExitReport program = run(missing);
  EXPECT_EQ(program.cause, EndCause::kCouldNotStart);
  EXPECT_EQ(program.error_number, ENOENT);
  EXPECT_EQ(program.words, "cannot run 'no-such-program': No such file or directory");

  LaunchSpec nowhere = shell("exit 0");
  nowhere.cwd = "/no/such/place";
  const ExitReport place = run(nowhere);
  EXPECT_EQ(place.cause, EndCause::kCouldNotStart);
  EXPECT_EQ(place.words, "cannot enter the directory '/no/such/place': No such file or directory");

  const ExitReport plain = run(spec({"/etc/passwd"}));
  EXPECT_EQ(plain.cause, EndCause::kCouldNotStart);
  EXPECT_EQ(plain.error_number, EACCES);
}

TEST_F(Local, OneRankFailingStopsTheOthers) {
  LaunchSpec gang = shell("if [ $RANK = 2 ]; then sleep 0.1; exit 7; fi; exec sleep 100");
  gang.ranks_per = RanksPer::kGpu;
  gang.gpus = {0, 1, 2};
  gang.world_size = 3;
  const ExitReport report = run(gang);
  EXPECT_EQ(report.cause, EndCause::kFailed);
  EXPECT_EQ(report.words, "rank 2 ended with status 7");
  EXPECT_EQ(report.ranks, (std::vector<RankEnd>{{0, 0, SIGTERM}, {1, 0, SIGTERM}, {2, 7, 0}}));
}

TEST_F(Local, RanksThatFinishEarlyAreWaitedWith) {
  LaunchSpec gang =
      shell("echo $LOCAL_RANK of $LOCAL_WORLD_SIZE; [ $RANK = 5 ] && sleep 0.2; true");
  gang.ranks_per = RanksPer::kGpu;
  gang.gpus = {0, 3};
  gang.first_rank = 4;
  gang.world_size = 6;
  const ExitReport report = run(gang);
  EXPECT_EQ(report.cause, EndCause::kFinished);
  EXPECT_EQ(report.ranks, (std::vector<RankEnd>{{4, 0, 0}, {5, 0, 0}}));
  EXPECT_GE(report.end.boot_us - report.start.boot_us, 200'000);
  std::string log = log_of(gang);
  EXPECT_TRUE(log == "[rank4]: 0 of 2\n[rank5]: 1 of 2\n" ||
              log == "[rank5]: 1 of 2\n[rank4]: 0 of 2\n")
      << log;
}

TEST_F(Local, NothingOutlivesTheLease) {
  // Leaves the group and the session, drops its environment and its parent.
  const std::string away = "setsid env -i sh -c 'echo $$ >p; exec sleep 1000' & ";
  for (const bool grouped : {false, true}) {
    LaunchSpec spec = shell(away + "while ! [ -s p ]; do sleep 0.01; done; exit 0");
    if (grouped && !with_group(spec)) continue;
    std::filesystem::remove(scratch_ + "/p");
    EXPECT_EQ(run(spec).cause, EndCause::kFinished);
    EXPECT_FALSE(alive(pid_in(scratch_ + "/p")));
  }
}

TEST_F(Local, AccountsForEverythingThatRan) {
  LaunchSpec spec =
      shell("head -c 5000000 /dev/zero >blob; (i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done)");
  const ExitReport report = run(spec);
  EXPECT_GE(report.written_bytes, 5'000'000);
  EXPECT_LT(report.written_bytes, 5'100'000);
  EXPECT_GE(report.read_bytes, 5'000'000);
  EXPECT_LT(report.read_bytes, 5'100'000);
  EXPECT_GT(report.user_s + report.system_s, 0.01);
  EXPECT_LT(report.user_s + report.system_s, 5);
  EXPECT_GE(report.mem_peak_mib, 1);
}

TEST_F(Local, RefusesBadOrders) {
  LaunchSpec bad = shell("true");
  bad.env = {{"MUSTER_LEASE", "mine"}};
  EXPECT_EQ(executor_->start(bad)->message, "env: MUSTER_LEASE is reserved for Muster");
  bad = spec({"\xff\xfe"});
  EXPECT_EQ(executor_->start(bad)->message, "spec: contains text that is not UTF-8");
  EXPECT_TRUE(executor_->stop("j99.e1"));
  EXPECT_FALSE(executor_->adopt("../../etc").ok());
  EXPECT_FALSE(executor_->adopt("j1.e1/../j2.e1").ok());
  EXPECT_TRUE(executor_->records().value().empty());
}

TEST_F(Local, WorksBelowAVeryLongPath) {
  leases_ = scratch_ + "/" + std::string(200, 'd');
  open();
  const LaunchSpec spec = shell("sleep 100");
  start(spec);
  started();
  EXPECT_TRUE(executor_->status(lease_name(spec)).ok());
  EXPECT_FALSE(executor_->kill(lease_name(spec)));
  EXPECT_EQ(ended().cause, EndCause::kKilled);
}

TEST_F(Local, TellsHowMuchCpuALeaseHasUsed) {
  open();
  const LaunchSpec busy = shell("while :; do :; done");
  start(busy);
  started();
  std::vector<PartUse> uses;
  EXPECT_TRUE(eventually([&] {
    uses = executor_->use();
    return uses.size() == 1 && uses[0].cpu_s > 0.1;
  }));
  EXPECT_EQ(uses[0].job, busy.job);
  EXPECT_EQ(uses[0].epoch, busy.epoch);
  EXPECT_EQ(uses[0].cpu_milli, busy.cpu_milli);
  EXPECT_FALSE(executor_->kill(lease_name(busy)));
  ended();
  EXPECT_TRUE(executor_->use().empty());
}

TEST_F(Local, AFrozenShimHidesNobodyElse) {
  open();
  LaunchSpec first = shell("sleep 600");
  LaunchSpec second = first;
  ++second.job;
  start(first);
  const pid_t frozen = started().pid;
  start(second);
  started();
  ::kill(frozen, SIGSTOP);
  std::vector<PartUse> uses;
  EXPECT_TRUE(eventually([&] {  // A healthy shim may be slow on a busy machine.
    uses = executor_->use();
    return uses.size() == 1;
  }));
  EXPECT_EQ(uses.at(0).job, second.job);
  ::kill(frozen, SIGCONT);
  for (const LaunchSpec& spec : {first, second}) {
    EXPECT_FALSE(executor_->kill(lease_name(spec)));
    ended();
  }
}

// Starts the real shim, or fails.
class RecordingStarter final : public ShimStarter {
 public:
  RecordingStarter(std::vector<std::string>& started, bool fails)
      : started_(started), fails_(fails) {}
  Result<StartedShim> start(const std::string& directory, const Fd& errors) override {
    started_.push_back(directory);
    if (fails_) return Error{"the launcher does not answer", ErrorCode::kUnavailable};
    return real_.start(directory, errors);
  }

 private:
  std::vector<std::string>& started_;
  bool fails_;
  SpawnedShims real_{MUSTER_SHIM};
};

TEST_F(Local, ShimsAreStartedThroughAnInterface) {
  std::vector<std::string> shims;
  const auto open_with = [&](bool fails) {
    executor_.reset();
    auto opened = LocalExecutor::open({.leases = leases_, .shim = "unused"},
                                      std::make_unique<RecordingStarter>(shims, fails));
    executor_.emplace(std::move(opened).value());
  };
  const LaunchSpec spec = shell("true");
  open_with(true);
  EXPECT_EQ(executor_->start(spec)->message, "the launcher does not answer");
  EXPECT_FALSE(executor_->has(lease_name(spec)));
  open_with(false);
  EXPECT_EQ(run(spec).cause, EndCause::kFinished);
  EXPECT_EQ(shims, std::vector<std::string>(2, dir(spec)));
}

}  // namespace
}  // namespace muster
