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
#include <span>
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
    open_runner(std::make_unique<MachineExecutor>(std::move(local).value()));
  }
  void open_runner(std::unique_ptr<Executor> executor) {
    runner_ = std::make_unique<ExecutorLeaseRunner>(
        std::move(executor), FailureDiagnoser(LeaseFiles(leases_), ""),
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

// An executor for another machine: its leases start immediately, and end when they are killed.
class FarExecutor final : public Executor {
 public:
  explicit FarExecutor(std::vector<std::int64_t>& kills) : kills_(kills) {}

  std::vector<MaybeError> start(std::span<const LaunchSpec> parts) override {
    for (const LaunchSpec& part : parts) {
      ExecEvent event = event_of(part, ExecEvent::Kind::kStarted);
      event.started.emplace();  // The boot clock of the other machine has another start.
      event.started->boot_id = "another";
      event.started->at.boot_us = 1;
      events_.push_back(std::move(event));
      parts_.push_back(part);
    }
    return std::vector<MaybeError>(parts.size());
  }
  MaybeError kill(const std::string&) override {
    kills_.push_back(boot_micros());
    for (const LaunchSpec& part : parts_) {
      ExecEvent event = event_of(part, ExecEvent::Kind::kLost);
      event.why = "cancelled by the site";
      events_.push_back(std::move(event));
    }
    return std::nullopt;
  }
  std::vector<ExecEvent> poll() override { return std::exchange(events_, {}); }
  Result<std::string> resize(const std::string&, Limits) override { return std::string(); }

  std::vector<AdoptResult> adopt(std::span<LaunchSpec> parts, bool, bool) override {
    return std::vector<AdoptResult>(parts.size(), AdoptResult::kAskAgain);
  }
  MaybeError stop(const std::string&, std::optional<std::int64_t>) override { return {}; }
  bool forget(const std::string&) override { return false; }
  std::vector<std::string> end_unknown_leases(std::span<const Name>) override { return {}; }
  std::vector<std::string> command_on(const std::string&, std::vector<std::string>) const override {
    return {};
  }
  int fd() const override { return -1; }
  std::vector<NodeUpdate> nodes() override { return {}; }
  std::optional<std::vector<NodeDescription>> changed_nodes() override { return std::nullopt; }
  std::vector<std::string> troubles() override { return {}; }

 private:
  static ExecEvent event_of(const LaunchSpec& part, ExecEvent::Kind kind) {
    ExecEvent event;
    event.kind = kind;
    event.lease = lease_name(part);
    event.job = part.job;
    event.epoch = part.epoch;
    event.node_rank = part.node_rank;
    return event;
  }

  std::vector<std::int64_t>& kills_;
  std::vector<LaunchSpec> parts_;
  std::vector<ExecEvent> events_;
};

TEST_F(StoppedShim, OnAnotherMachineIsKilledThroughItsExecutor) {
  std::vector<std::int64_t> kills;
  open_runner(std::make_unique<FarExecutor>(kills));
  const std::int64_t begin = boot_micros();
  runner_->order({order(LeaseOrder::Kind::kStart)});
  LeaseOrder resize = order(LeaseOrder::Kind::kResize);
  resize.limits = {{.cpu_milli = 500, .mem_mib = 100}};
  runner_->order({resize});
  const auto over = wait_for<LeaseOverInput>();
  runner_.reset();
  ASSERT_TRUE(over);
  EXPECT_EQ(over->fate, LeaseResult::kTimeLimit);
  ASSERT_EQ(kills.size(), 1U);
  EXPECT_GE(kills.front() - begin, 1'700'000);  // Time limit, grace period and overtime.
}

}  // namespace
}  // namespace muster
