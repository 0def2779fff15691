#include "exec/cgroup/cgroup.h"
#include "base/os/testing.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

namespace muster {
namespace {

// Uses plain files instead of a kernel hierarchy. It checks what is written to which file, also for
// the cgroup version that this machine does not have.
class Group : public ::testing::Test {
 protected:
  void put(const std::string& path, const std::string& text = "") {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  std::string get(const std::string& path) const { return folder_.read(path.substr(1)); }

  const Folder folder_;
  const std::string root_ = folder_.path();
};

TEST_F(Group, OfVersionTwoWritesItsFilesAndPassesControllersDown) {
  const std::string leaf = "/v2/m/muster-tok";
  for (const char* file : {"/cgroup.procs", "/cpu.max", "/memory.max", "/memory.high",
                           "/memory.oom.group", "/memory.swap.max", "/cgroup.kill"}) {
    put(leaf + file);
  }
  put(leaf + "/cgroup.controllers", "cpu io memory pids\n");
  put(leaf + "/memory.current", "104857600\n");
  put(leaf + "/memory.events", "low 0\noom 3\noom_kill 2\n");
  put("/v2/cgroup.subtree_control");
  put("/v2/m/cgroup.subtree_control");
  const CgroupMounts mounts{root_ + "/v2", "", ""};
  auto made = ControlGroup::create("/m", "tok", {.cpu_milli = 1500, .mem_mib = 256}, mounts);
  ASSERT_TRUE(made.ok()) << made.error().message;
  ControlGroup& group = made.value();
  EXPECT_EQ(group.kind(), "cgroup-v2");
  EXPECT_EQ(get(leaf + "/cpu.max"), "150000 100000");
  EXPECT_EQ(get(leaf + "/memory.max"), "268435456");
  EXPECT_TRUE(get(leaf + "/memory.high").starts_with("max"));
  EXPECT_EQ(get(leaf + "/memory.oom.group"), "1");
  EXPECT_FALSE(get("/v2/m/cgroup.subtree_control").empty());
  EXPECT_EQ(group.oom_kills(), 2);
  EXPECT_EQ(group.doors().value().size(), 1U);

  const auto refusal = group.resize({.cpu_milli = 100, .mem_mib = 64});
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->message, "the job uses 100 MiB");
  EXPECT_EQ(get(leaf + "/cpu.max"), "150000 100000");
  EXPECT_EQ(get(leaf + "/memory.max"), "268435456");
  group.kill_all();
  EXPECT_EQ(get(leaf + "/cgroup.kill"), "1");
}

TEST_F(Group, WithoutAControllerIsRefusedAndSaysWhich) {
  put("/v2/m/muster-tok/cgroup.controllers", "memory\n");
  const CgroupMounts mounts{root_ + "/v2", "", ""};
  const auto made = ControlGroup::create("/m", "tok", {.cpu_milli = 100, .mem_mib = 64}, mounts);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().message,
            root_ + "/v2/m/muster-tok: the controller cpu is not enabled for it");
  const auto none = ControlGroup::create("/m", "tok", {.cpu_milli = 100, .mem_mib = 64}, {});
  EXPECT_EQ(none.error().message,
            "no cgroup hierarchy with the controllers cpu and memory is mounted");
}

TEST_F(Group, OfVersionOneWritesToEachHierarchy) {
  for (const char* file : {"/cpu.cfs_period_us", "/cpu.cfs_quota_us", "/cgroup.procs"}) {
    put(std::string("/cpu/m/muster-tok") + file);
  }
  for (const char* file :
       {"/memory.limit_in_bytes", "/memory.memsw.limit_in_bytes", "/cgroup.procs"}) {
    put(std::string("/mem/m/muster-tok") + file);
  }
  put("/mem/m/muster-tok/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
  const CgroupMounts mounts{"", root_ + "/cpu", root_ + "/mem"};
  const auto made = ControlGroup::create("/m", "tok", {.cpu_milli = 250, .mem_mib = 64}, mounts);
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made.value().kind(), "cgroup-v1");
  EXPECT_EQ(get("/cpu/m/muster-tok/cpu.cfs_period_us"), "100000");
  EXPECT_EQ(get("/cpu/m/muster-tok/cpu.cfs_quota_us"), "25000");
  EXPECT_EQ(get("/mem/m/muster-tok/memory.limit_in_bytes"), "67108864");
  EXPECT_EQ(made.value().oom_kills(), 1);
  EXPECT_EQ(made.value().doors().value().size(), 2U);
}

TEST_F(Group, LimitsProcessesWhereItCanAndSaysWhereNot) {
  for (const char* file : {"/cpu.max", "/memory.max", "/memory.high", "/cgroup.procs"}) {
    put(std::string("/v2/m/muster-tok") + file);
  }
  put("/v2/m/muster-tok/cgroup.controllers", "cpu memory\n");
  CgroupMounts mounts{root_ + "/v2", "", ""};
  const auto gaps = [&] {
    auto made = ControlGroup::create("/m", "tok", {.cpu_milli = 100, .mem_mib = 64}, mounts);
    EXPECT_TRUE(made.ok()) << made.error().message;
    return made.ok() ? made.value().restrict_to({max_processes(2), std::nullopt}) : "";
  };
  EXPECT_EQ(gaps(),
            "not enforced: atomic kill (neither cgroup.kill nor the freezer is available); "
            "process limit (the controller pids is not available); "
            "GPU device filter (the devices of the lease are unknown)");
  put("/v2/m/muster-tok/cgroup.controllers", "cpu memory pids\n");
  put("/v2/m/muster-tok/cgroup.kill");
  put("/v2/m/muster-tok/pids.max");
  EXPECT_EQ(gaps(), "not enforced: GPU device filter (the devices of the lease are unknown)");
  EXPECT_EQ(get("/v2/m/muster-tok/pids.max"), "12288");
  put("/v2/m/muster-tok/cgroup.controllers", "cpu memory\n");
  mounts.v1_pids = root_ + "/pids";
  put("/pids/m/muster-tok/pids.max");
  gaps();
  EXPECT_EQ(get("/pids/m/muster-tok/pids.max"), "12288");
}

// Uses the hierarchies of the kernel. Needs root; skipped otherwise.
class KernelGroup : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    mounts_ = find_cgroup_mounts();
    const std::string version = GetParam();
    if (version == "freezer") mounts_.unified.clear();
    if (version == "freezer" ? mounts_.v1_freezer.empty() : mounts_.unified.empty()) {
      GTEST_SKIP() << version << " is not mounted";
    }
    auto made = ControlGroup::create(parent_, "bomb", {.cpu_milli = 1000, .mem_mib = 512}, mounts_);
    if (!made.ok()) GTEST_SKIP() << made.error().message;
    group_.emplace(std::move(made).value());
  }
  void TearDown() override {
    EXPECT_TRUE(!group_ || group_->remove());
    for (const std::string& mount : {mounts_.unified, mounts_.v1_cpu, mounts_.v1_memory,
                                     mounts_.v1_pids, mounts_.v1_freezer}) {
      if (!mount.empty()) ::rmdir((mount + parent_).c_str());
    }
  }

  // Starts a process of the group that forks processes of the same kind until `end`.
  void start_bomb() const {
    const auto doors = group_->doors();
    ASSERT_TRUE(doors.ok());
    if (::fork() != 0) return;
    for (const Fd& door : doors.value()) {
      if (::write(door.get(), "0", 1) != 1) ::_exit(1);
    }
    ::signal(SIGCHLD, SIG_IGN);
    const time_t end = ::time(nullptr) + 10;  // Ends by itself if the test fails.
    while (::time(nullptr) < end) {
      ::setsid();
      if (::fork() < 0) ::usleep(1000);
    }
    ::_exit(0);
  }
  bool empties() const {
    for (int i = 0; i < 1000 && !group_->empty(); ++i) {
      ::usleep(10'000);
      while (::waitpid(-1, nullptr, WNOHANG) > 0) {
      }
    }
    return group_->empty();
  }

  const std::string parent_ = "/muster-test-" + std::to_string(::getpid());
  CgroupMounts mounts_;
  std::optional<ControlGroup> group_;
};

TEST_P(KernelGroup, HoldsAForkBombAndKillsIt) {
  const std::string gaps = group_->restrict_to({40, DeviceFilter{}});
  if (!gaps.empty()) GTEST_SKIP() << gaps;
  start_bomb();
  for (int i = 0; i < 1000 && group_->refused_forks() == 0; ++i) ::usleep(10'000);
  EXPECT_GT(group_->refused_forks(), 0);
  EXPECT_FALSE(group_->empty());
  EXPECT_FALSE(group_->remove());
  group_->kill_all();  // Once: new processes cannot appear.
  EXPECT_TRUE(empties());
}

TEST_P(KernelGroup, IsFoundAgain) {
  EXPECT_EQ(group_->restrict_to({40, DeviceFilter{}}), "");
  const ControlGroup found = ControlGroup::find(parent_, "bomb", mounts_);
  EXPECT_TRUE(found.empty());
  start_bomb();
  for (int i = 0; i < 1000 && found.empty(); ++i) ::usleep(10'000);
  EXPECT_FALSE(found.empty());
  found.kill_all();
  EXPECT_TRUE(empties());
  EXPECT_TRUE(found.remove());
  EXPECT_TRUE(ControlGroup::find(parent_, "bomb", mounts_).remove()) << "nothing is left";
}

INSTANTIATE_TEST_SUITE_P(Kills, KernelGroup, ::testing::Values("freezer", "v2"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace muster
