#include "exec/machine/machine_facts.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace muster {
namespace {

TEST(Node, HasCpusAndMemoryAsTheKernelSays) {
  const auto facts = find_node(0, "");
  ASSERT_TRUE(facts.ok()) << facts.error().message;
  EXPECT_GE(facts.value().cpus, 1);
  EXPECT_LE(facts.value().cpus, ::sysconf(_SC_NPROCESSORS_CONF));
  EXPECT_GE(facts.value().cores, 1);
  const std::int64_t pages = ::sysconf(_SC_PHYS_PAGES);
  const std::int64_t mib = pages * ::sysconf(_SC_PAGESIZE) >> 20;
  EXPECT_NEAR(static_cast<double>(facts.value().mem_mib), static_cast<double>(mib),
              0.1 * static_cast<double>(mib));
  EXPECT_FALSE(facts.value().full_isolation);
  EXPECT_EQ(facts.value().isolation_why, "no cgroup parent is configured");
}

TEST(Node, VirtualGpusStandInAndSaySo) {
  const auto facts = find_node(3, "", "no-such-nvml.so");
  ASSERT_TRUE(facts.ok());
  EXPECT_TRUE(facts.value().gpus_virtual);
  ASSERT_EQ(facts.value().gpus.size(), 3U);
  EXPECT_EQ(facts.value().gpus[2].index, 2);
  EXPECT_TRUE(facts.value().gpus_why.starts_with("no NVML: ")) << facts.value().gpus_why;
}

TEST(Node, RealGpusComeBeforeVirtualOnes) {
  const auto facts = find_node(3, "", FAKE_NVML);
  ASSERT_TRUE(facts.ok());
  EXPECT_FALSE(facts.value().gpus_virtual);
  ASSERT_EQ(facts.value().gpus.size(), 2U);
  EXPECT_EQ(facts.value().gpus[1].name, "Fake V100");
  EXPECT_EQ(facts.value().gpus[1].uuid, "GPU-fake0");
  EXPECT_EQ(facts.value().gpus[1].nodes,
            (std::vector<std::string>{"/dev/nvidia0", "/dev/dri/by-path/pci-0000:3c:00.0-card",
                                      "/dev/dri/by-path/pci-0000:3c:00.0-render"}));
  EXPECT_EQ(facts.value().gpus[1].mem_mib, 16 << 10);
}

TEST(Node, GpusTellHowBusyTheyAre) {
  EXPECT_EQ(GpuWatch(FAKE_NVML).use(), (std::vector<double>{0.75, -1}));
  EXPECT_TRUE(GpuWatch("no-such-nvml.so").use().empty());
  EXPECT_TRUE(GpuWatch("libc.so.6").use().empty());
}

TEST(Node, ALibraryThatIsNotNvmlIsRefused) {
  const auto gpus = find_gpus("libc.so.6");
  ASSERT_FALSE(gpus.ok());
  EXPECT_EQ(gpus.error().message, "libc.so.6: not NVML");
}

}  // namespace
}  // namespace muster
