#pragma once

// Fixture for tests of the local executor: a scratch directory of leases, specs for small shell
// jobs, and waiting for events with a timeout. Tests run with control groups if available, and
// without.

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "base/os/processes.h"
#include "exec/cgroup/cgroup.h"
#include "exec/machine/local_executor.h"

namespace muster {

// Timeout in milliseconds for things that normally take a moment. It is long because the machine
// may be busy. Only a failing test waits that long.
inline constexpr int kPatience = 120'000;

inline bool eventually(const std::function<bool()>& holds, int most_ms = kPatience) {
  for (int i = 0; i < most_ms / 5; ++i) {
    if (holds()) return true;
    ::usleep(5000);
  }
  return holds();
}

class LeaseTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/muster-exec-XXXXXX";
    scratch_ = ::mkdtemp(name);
    leases_ = scratch_ + "/leases";
    group_parent_ = "/muster-test-" + std::to_string(::getpid());
    open();
  }

  void TearDown() override {
    executor_.reset();
    for (const std::string& token : tokens_) {
      while (kill_by_mark(token).killed > 0) ::usleep(2000);
      const ControlGroup group = ControlGroup::find(group_parent_, token);
      eventually([&] { return group.remove(); }, 1000);
    }
    for (const char* root : {"/sys/fs/cgroup", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/memory",
                             "/sys/fs/cgroup/unified"}) {
      ::rmdir((root + group_parent_).c_str());
    }
    std::error_code ignored;
    std::filesystem::remove_all(scratch_, ignored);
  }

  // Another executor over the same records, as after a restart of the daemon.
  void open(Duration answer_time = Duration::seconds(60)) {
    executor_.reset();
    auto opened = LocalExecutor::open({leases_, MUSTER_SHIM, answer_time});
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    executor_.emplace(std::move(opened).value());
  }

  LaunchSpec spec(std::vector<std::string> argv) {
    LaunchSpec spec;
    spec.job = ++job_;
    spec.epoch = 1;
    // Unique per process and job, so that parallel tests do not kill each other's processes.
    spec.token = "t" + std::to_string(1'000'000'000 + ::getpid()) + "x" +
                 std::to_string(100'000 + job_) + "test";
    spec.argv = std::move(argv);
    spec.cwd = scratch_;
    spec.grace_ms = kPatience;
    tokens_.push_back(spec.token);
    return spec;
  }
  LaunchSpec shell(const std::string& script) { return spec({"sh", "-c", script}); }

  // Enables control groups for the spec. Returns false if they are not available.
  bool with_group(LaunchSpec& spec) {
    if (try_cgroup(group_parent_)) return false;
    spec.cgroup_parent = group_parent_;
    return true;
  }

  ExecEvent wait_for(ExecEvent::Kind kind, int most_ms = kPatience) {
    const std::int64_t until = boot_micros() + std::int64_t{most_ms} * 1000;
    while (boot_micros() < until) {
      for (ExecEvent& event : executor_->poll()) events_.push_back(std::move(event));
      for (auto it = events_.begin(); it != events_.end(); ++it) {
        if (it->kind != kind) continue;
        ExecEvent event = std::move(*it);
        events_.erase(it);
        return event;
      }
      pollfd ready{executor_->fd(), POLLIN, 0};
      ::poll(&ready, 1, 100);
    }
    ADD_FAILURE() << "no such event within " << most_ms << " ms";
    return {};
  }

  void start(const LaunchSpec& spec) {
    const auto refusal = executor_->start(spec);
    ASSERT_FALSE(refusal) << refusal->message;
  }
  StartedFacts started() {
    return wait_for(ExecEvent::Kind::kStarted).started.value_or(StartedFacts{});
  }
  ExitReport ended() { return wait_for(ExecEvent::Kind::kEnded).ended.value_or(ExitReport{}); }
  ExitReport run(const LaunchSpec& spec) {
    start(spec);
    started();
    return ended();
  }

  std::string dir(const LaunchSpec& spec) const { return leases_ + "/" + lease_name(spec); }
  static std::string text_of(const std::string& path) {
    std::ifstream in(path);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }
  std::string log_of(const LaunchSpec& spec) const { return text_of(dir(spec) + "/out.log"); }
  // Waits until the job has written the file, and returns it as a number.
  static pid_t pid_in(const std::string& path) {
    EXPECT_TRUE(eventually([&] { return text_of(path).ends_with("\n"); })) << path;
    return static_cast<pid_t>(std::atoi(text_of(path).c_str()));
  }
  static bool alive(pid_t pid) {
    const std::string stat = text_of("/proc/" + std::to_string(pid) + "/stat");
    return !stat.empty() && stat.find(") Z ") == std::string::npos;
  }

  std::string scratch_, leases_, group_parent_;
  std::optional<LocalExecutor> executor_;
  std::vector<ExecEvent> events_;
  std::vector<std::string> tokens_;
  std::int64_t job_ = 0;
};

}  // namespace muster
