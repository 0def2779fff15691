#include "exec/machine/measure.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/os/testing.h"
#include "exec/cgroup/cgroup.h"
#include "exec/machine/step_watch.h"

namespace muster {
namespace {

class MeasureTest : public ::testing::Test {
 protected:
  void SetUp() override { parent_ = "/muster-measure-" + std::to_string(::getpid()); }
  void TearDown() override {
    for (const char* root : {"/sys/fs/cgroup", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/memory",
                             "/sys/fs/cgroup/unified"}) {
      ::rmdir((root + parent_).c_str());
    }
  }

  MeasureOrder order(const std::string& script) {
    MeasureOrder order;
    order.spec.job = 1;
    order.spec.token = "measuretest" + std::to_string(1'000'000 + ::getpid());
    order.spec.argv = {"sh", "-c", script};
    order.spec.cwd = scratch_;
    order.spec.grace_ms = 2'000;
    order.spec.cgroup_parent = parent_;
    order.scratch = scratch_ + "/leases" + std::to_string(++orders_);
    order.shim = MUSTER_SHIM;
    order.session.full = 1000;
    order.session.patience = Duration::seconds(4);
    order.session.meter.least = Duration::seconds(1);
    order.session.meter.most = Duration::seconds(3);
    order.session.meter.wanted = 0.1;
    return order;
  }

  const Folder folder_;
  const std::string scratch_ = folder_.path();
  std::string parent_;
  int orders_ = 0;
};

// Ten steps per second, independent of the CPU limit.
constexpr const char* kSleeper =
    "i=0; while :; do i=$((i+1)); echo \"{\\\"step\\\":$i,\\\"epoch\\\":$((i/5))}\" >> "
    "\"$MUSTER_PROGRESS\"; sleep 0.1; done";

TEST_F(MeasureTest, AJobThatNeedsNoCpuIsFlat) {
  if (const auto why = try_cgroup(parent_)) GTEST_SKIP() << why->message;
  const Result<Measured> found = measure(order(kSleeper));
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_FALSE(found.value().trouble) << *found.value().trouble;
  EXPECT_EQ(found.value().starts, 1);
  ASSERT_GE(found.value().curve.points().size(), 2U);
  EXPECT_LE(found.value().curve.need(), 500);
  EXPECT_NEAR(found.value().steps_per_epoch, 5, 1);
  EXPECT_LT(found.value().own_mem_mib, 100);
}

TEST_F(MeasureTest, ItsOwnMemoryIsCountedAndCachedFilesAreNot) {
  if (const auto why = try_cgroup(parent_)) GTEST_SKIP() << why->message;
  const Result<Measured> found = measure(order(
      "head -c 300000000 /dev/zero > big; cat big > /dev/null; x=$(head -c 50000000 /dev/zero | "
      "tr '\\0' x); i=0; while :; do i=$((i+1)); echo \"{\\\"step\\\":$i}\" >> "
      "\"$MUSTER_PROGRESS\"; sleep 0.1; done"));
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_GT(found.value().own_mem_mib, 40);
  EXPECT_LT(found.value().own_mem_mib, 250);
}

TEST_F(MeasureTest, OneThatSaysNothingIsTold) {
  if (const auto why = try_cgroup(parent_)) GTEST_SKIP() << why->message;
  MeasureOrder silent = order("sleep 60");
  silent.session.patience = Duration::seconds(1);
  const Result<Measured> found = measure(silent);
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found.value().trouble, "the job has reported no progress for 1 s");
}

TEST_F(MeasureTest, OneThatEndsOrFailsTooSoonIsTold) {
  if (const auto why = try_cgroup(parent_)) GTEST_SKIP() << why->message;
  const Result<Measured> brief = measure(order("true"));
  ASSERT_TRUE(brief.ok()) << brief.error().message;
  EXPECT_EQ(brief.value().trouble, "the job ended before its speed was measured at any CPU limit");
  const Result<Measured> failed = measure(order("echo no such data set; exit 3"));
  ASSERT_TRUE(failed.ok()) << failed.error().message;
  EXPECT_TRUE(failed.value().trouble->starts_with("the job failed")) << *failed.value().trouble;
  EXPECT_EQ(failed.value().last_words, "no such data set\n");
}

TEST_F(MeasureTest, OneThatEndsInBetweenIsStartedAgain) {
  if (const auto why = try_cgroup(parent_)) GTEST_SKIP() << why->message;
  const Result<Measured> found =
      measure(order("i=0; while [ $i -lt 30 ]; do i=$((i+1)); echo \"{\\\"step\\\":$i}\" >> "
                    "\"$MUSTER_PROGRESS\"; sleep 0.1; done"));
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_FALSE(found.value().trouble) << *found.value().trouble;
  EXPECT_GE(found.value().starts, 2);
}

TEST_F(MeasureTest, WithoutControlGroupsNothingIsMeasured) {
  MeasureOrder plain = order(kSleeper);
  plain.spec.cgroup_parent.clear();
  const Result<Measured> found = measure(plain);
  ASSERT_FALSE(found.ok());
  EXPECT_TRUE(found.error().message.starts_with("CPU cannot be limited here: "))
      << found.error().message;
}

TEST_F(MeasureTest, StepsAreReadFromWholeLinesAlone) {
  const std::string path = scratch_ + "/p";
  StepWatch watch(path);
  EXPECT_FALSE(watch.look());
  std::ofstream out(path, std::ios::binary);
  out << "{\"step\":1}\n{\"step\":7,\"epoch\":2}\nrubbish\n{\"step\":9" << std::flush;
  const auto seen = watch.look();
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->step, 7);
  EXPECT_EQ(seen->epoch, 2);
  out << "}\n[[[[[[1]]]]]]\n" << std::flush;
  EXPECT_EQ(watch.look()->step, 9);
  EXPECT_FALSE(watch.look());
  out << "{\"step\":\"x\"}\n{\"step\":1e999}\n" << std::flush;
  EXPECT_FALSE(watch.look());
}

}  // namespace
}  // namespace muster
