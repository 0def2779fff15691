#include "exec/cgroup/device_filter.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

#include "base/os/testing.h"
#include "exec/cgroup/cgroup.h"

namespace muster {
namespace {

constexpr unsigned kMajor = 240;  // No driver: an allowed open() fails with ENXIO.

// Uses the hierarchies of the kernel. Needs root; skipped otherwise.
class DeviceFilterTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    mounts_ = find_cgroup_mounts();
    (version() == "v1" ? mounts_.unified : mounts_.v1_devices).clear();
    auto made =
        ControlGroup::create(parent_, "devices", {.cpu_milli = 1000, .mem_mib = 256}, mounts_);
    if (!made.ok()) GTEST_SKIP() << made.error().message;
    group_.emplace(std::move(made).value());
    if ((version() == "v1" ? mounts_.v1_devices : mounts_.unified).empty()) {
      GTEST_SKIP() << version() << " is not mounted with devices";
    }
    ASSERT_EQ(::mkdir(folder_.path().append("/dri").c_str(), 0755), 0);
    for (const char* name : {"nvidia0", "nvidia1", "nvidiactl", "dri/card0"}) {
      const std::string node = folder_ / name;
      ASSERT_EQ(::mknod(node.c_str(), S_IFCHR | 0666, makedev(kMajor, next_minor_++)), 0);
      ASSERT_EQ(::chmod(node.c_str(), 0666), 0);
    }
  }
  void TearDown() override {
    EXPECT_TRUE(!group_ || group_->remove());
    for (const std::string& mount : {mounts_.unified, mounts_.v1_cpu, mounts_.v1_memory,
                                     mounts_.v1_devices, mounts_.v1_freezer}) {
      if (!mount.empty()) ::rmdir((mount + parent_).c_str());
    }
  }

  static std::string version() { return GetParam(); }

  // Runs `body` in a process of the group and returns its result.
  int inside(const std::function<int()>& body) const {
    const auto doors = group_->doors();
    EXPECT_TRUE(doors.ok());
    const pid_t child = ::fork();
    if (child == 0) {
      for (const Fd& door : doors.value()) {
        if (::write(door.get(), "0", 1) != 1) ::_exit(255);
      }
      ::_exit(body());
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  int opening(const char* name) const {
    const std::string node = folder_ / name;
    return inside([&] { return ::open(node.c_str(), O_RDWR) < 0 ? errno : 0; });
  }

  const Folder folder_;
  const std::string parent_ = "/muster-test-" + std::to_string(::getpid());
  CgroupMounts mounts_;
  std::optional<ControlGroup> group_;
  unsigned next_minor_ = 0;
};

TEST_P(DeviceFilterTest, DeniesRootAllGpusExceptItsOwn) {
  const DeviceFilter filter = filter_gpus({folder_ / "nvidia1"}, folder_.path());
  EXPECT_EQ(filter.denied, (std::vector<DeviceNumber>{{kMajor, 0}, {kMajor, 3}}));
  EXPECT_EQ(filter.majors, std::vector<unsigned>{kMajor});
  EXPECT_EQ(opening("nvidia0"), ENXIO);
  EXPECT_EQ(group_->restrict_to({0, filter}), "");
  EXPECT_TRUE(group_->filters_devices());
  EXPECT_EQ(opening("nvidia0"), EPERM);
  EXPECT_EQ(opening("nvidia1"), ENXIO);
  EXPECT_EQ(opening("nvidiactl"), ENXIO);
  EXPECT_EQ(opening("dri/card0"), EPERM);
  EXPECT_EQ(inside([] { return ::open("/dev/null", O_RDWR) < 0 ? errno : 0; }), 0);
}

TEST_P(DeviceFilterTest, ANewNodeOfADeniedDeviceCannotBeMade) {
  const std::string node = folder_ / "mine";
  const auto make = [&](unsigned minor) {
    return ::mknod(node.c_str(), S_IFCHR | 0666, makedev(kMajor, minor)) != 0 ? errno : 0;
  };
  EXPECT_EQ(group_->restrict_to({0, filter_gpus({}, folder_.path())}), "");
  EXPECT_EQ(inside([&] { return make(0); }), EPERM);
  EXPECT_EQ(inside([&] { return make(77); }), EPERM);  // A device that appears later.
  EXPECT_EQ(inside([&] {
              if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return EPERM;
              return make(0);
            }),
            EPERM);
  EXPECT_EQ(inside([&] { return ::mkfifo(node.c_str(), 0600) != 0 ? errno : 0; }), 0);
}

TEST_P(DeviceFilterTest, ANodeMadeOutsideStaysDenied) {
  EXPECT_EQ(group_->restrict_to({0, filter_gpus({}, folder_.path())}), "");
  ASSERT_EQ(::mknod((folder_ / "copy").c_str(), S_IFCHR | 0666, makedev(kMajor, 1)), 0);
  EXPECT_EQ(opening("copy"), EPERM);
}

INSTANTIATE_TEST_SUITE_P(Versions, DeviceFilterTest, ::testing::Values("v1", "v2"),
                         [](const auto& each) { return std::string(each.param); });

TEST(DeviceFilter, WithoutGpusNothingIsDenied) {
  const Folder folder;
  EXPECT_TRUE(filter_gpus({"/dev/null"}, folder.path()).empty());
}

TEST(DeviceFilter, AProgramOfThousandsOfDevicesIsAccepted) {
  const CgroupMounts mounts = find_cgroup_mounts();
  if (::geteuid() != 0 || mounts.unified.empty()) GTEST_SKIP() << "needs root and cgroup v2";
  const std::string path = mounts.unified + "/muster-test-large";
  ASSERT_EQ(::mkdir(path.c_str(), 0755), 0);
  const Fd group(::open(path.c_str(), O_RDONLY | O_DIRECTORY));
  DeviceFilter filter;
  for (unsigned i = 0; i < 4000; ++i) filter.denied.push_back({kMajor + i / 100, i % 100});
  const auto refusal = attach_device_filter(group.get(), filter);
  EXPECT_FALSE(refusal) << refusal->message;
  filter.denied.resize(5000);
  EXPECT_EQ(attach_device_filter(group.get(), filter)->message, "more than 4096 devices");
  EXPECT_EQ(::rmdir(path.c_str()), 0);
}

}  // namespace
}  // namespace muster
