// The lease runner with real shims that are stopped.

#include "live/lease/executor_lease_runner.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/os/processes.h"
#include "base/os/testing.h"
#include "exec/lease/report.h"
#include "exec/machine/machine_executor.h"

namespace muster {
namespace {

constexpr int kPatienceMs = 60'000;

class StoppedShim : public ::testing::Test {
 protected:
  // Shims that a new runner adopts are children of this process. This process does not wait for
  // them.
  void SetUp() override { before_ = ::signal(SIGCHLD, SIG_IGN); }
  void TearDown() override {
    runner_.reset();
    ::signal(SIGCHLD, before_);
  }

  void open_runner() {
    runner_.reset();
    auto local = LocalExecutor::open(
        {.leases = leases_, .shim = MUSTER_SHIM, .answer_wait = Duration::micros(200'000)});
    ASSERT_TRUE(local.ok());
    runner_ = std::make_unique<ExecutorLeaseRunner>(
        std::make_unique<MachineExecutor>(std::move(local).value()),
        FailureDiagnoser(LeaseFiles(leases_), ""),
        [this](std::vector<Input> inputs) {
          const std::lock_guard lock(mutex_);
          for (Input& each : inputs) inputs_.push_back(std::move(each));
        },
        [](std::vector<NodeDescription>) {}, [](const std::string&) {}, Duration::micros(500'000));
  }

  LeaseOrder order(LeaseOrder::Kind kind) {
    LaunchSpec spec;
    spec.job = 1;
    spec.epoch = 1;
    spec.token = "t" + std::to_string(1'000'000'000 + ::getpid()) + "limits";
    // A descendant in another session, without an environment.
    spec.argv = {"sh", "-c",
                 "trap '' TERM; (setsid env -i sh -c 'echo $$ >far; exec sleep 1000' &); "
                 "while :; do sleep 1; done"};
    spec.cwd = folder_.path();
    spec.grace_ms = 200;
    spec.time_limit_ms = 1'000;
    LeaseOrder order;
    order.kind = kind;
    order.id = 1;
    order.lease = 1;
    order.specs = {spec};
    order.grace = Duration::micros(200'000);
    return order;
  }

  template <typename Wanted>
  std::optional<Wanted> wait_for() {
    for (int i = 0; i < kPatienceMs / 5; ++i) {
      {
        const std::lock_guard lock(mutex_);
        for (const Input& each : inputs_) {
          if (const auto* found = std::get_if<Wanted>(&each)) return *found;
        }
      }
      ::usleep(5000);
    }
    return std::nullopt;
  }

  // Starts the job, and stops its shim when the whole job runs. Returns the far process.
  pid_t start_and_stop_shim() {
    runner_->order({order(LeaseOrder::Kind::kStart)});
    EXPECT_TRUE(wait_for<LeaseUpInput>());
    for (int i = 0; i < kPatienceMs / 5 && !folder_.read("far").ends_with("\n"); ++i)
      ::usleep(5000);
    started_ = read_started(folder_.read("leases/j1.e1/started.json")).value();
    EXPECT_EQ(::kill(started_.pid, SIGSTOP), 0);
    return static_cast<pid_t>(std::atoi(folder_.read("far").c_str()));
  }

  static bool alive(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string stat;
    return std::getline(file, stat) && stat.find(") Z ") == std::string::npos;
  }

  Folder folder_;
  std::string leases_ = folder_ / "leases";
  StartedFacts started_;
  std::mutex mutex_;
  std::vector<Input> inputs_;
  std::unique_ptr<ExecutorLeaseRunner> runner_;
  void (*before_)(int) = nullptr;
};

TEST_F(StoppedShim, DoesNotExtendTheTimeLimit) {
  open_runner();
  const pid_t far = start_and_stop_shim();
  const auto over = wait_for<LeaseOverInput>();
  const std::int64_t ran_us = boot_micros() - started_.at.boot_us;
  ASSERT_TRUE(over);
  EXPECT_EQ(over->fate, LeaseResult::kTimeLimit);
  EXPECT_GE(ran_us, 1'700'000);  // Time limit, grace period and overtime.
  EXPECT_FALSE(alive(started_.pid));
  EXPECT_FALSE(alive(far));
}

TEST_F(StoppedShim, DoesNotExtendTheTimeLimitAfterARestart) {
  open_runner();
  const pid_t far = start_and_stop_shim();
  open_runner();
  LeaseOrder adopt = order(LeaseOrder::Kind::kAdopt);
  adopt.was_up = true;
  runner_->order({adopt});
  const auto over = wait_for<LeaseOverInput>();
  ASSERT_TRUE(over);
  EXPECT_EQ(over->fate, LeaseResult::kTimeLimit);
  EXPECT_FALSE(alive(started_.pid));
  EXPECT_FALSE(alive(far));
}

}  // namespace
}  // namespace muster
