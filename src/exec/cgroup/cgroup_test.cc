#include "exec/cgroup/cgroup.h"
#include "base/os/testing.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
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

}  // namespace
}  // namespace muster
