#include "live/lease/launch.h"

#include <gtest/gtest.h>

#include <set>

namespace muster {
namespace {

LiveJob two_node_job() {
  LiveJob job;
  job.id = 12;
  job.request.command = {"true"};
  return job;
}

Order two_node_order() {
  Order order;
  order.lease = 3;
  Share share;
  share.slots = 1;
  order.placement = {share, share};
  return order;
}

LaunchSettings with_key(unsigned char byte) {
  LaunchSettings settings;
  settings.instance = "0123";
  settings.key.fill(byte);
  return settings;
}

TEST(Launch, TokensAreTheSameForARepeatedOrder) {
  const auto specs = launch_specs(two_node_job(), two_node_order(), with_key(1));
  EXPECT_EQ(launch_specs(two_node_job(), two_node_order(), with_key(1)), specs);
  ASSERT_EQ(specs.size(), 2U);
  for (const LaunchSpec& spec : specs) EXPECT_FALSE(check_spec(spec));
}

TEST(Launch, TokensDifferByPartLeaseKeyAndPurpose) {
  std::set<std::string> seen;
  for (const unsigned char key : {std::uint8_t{1}, std::uint8_t{2}}) {
    for (const std::uint32_t lease : {3U, 4U}) {
      Order order = two_node_order();
      order.lease = lease;
      for (const LaunchSpec& spec : launch_specs(two_node_job(), order, with_key(key))) {
        seen.insert(spec.token);
        seen.insert(spec.mark);
      }
    }
  }
  EXPECT_EQ(seen.size(), 16U);
}

TEST(Launch, TheTokenIsAnHmacOfTheKey) {
  // Computed with: printf 'token 0123 j12.e3' | openssl dgst -sha256 -mac HMAC -macopt
  // hexkey:01..01
  const auto specs = launch_specs(two_node_job(), two_node_order(), with_key(1));
  EXPECT_EQ(specs[0].token, "3460fd893a68ce643a95f8a36f4c3b57");
}

GpuFacts gpu(int index, std::vector<std::string> nodes) {
  return {index, "V100", "GPU-" + std::to_string(index), 16 << 10, std::move(nodes)};
}

// Returns the specification of a lease of the slots 1 and 2.
LaunchSpec spec_of(std::optional<std::vector<GpuFacts>> gpus) {
  LiveJob job;
  job.id = 1;
  job.request.command = {"true"};
  job.request.cwd = "/";
  Order order;
  order.lease = 1;
  Share share;
  share.slots = 0b110;
  order.placement = {share};
  LaunchSettings settings;
  settings.gpus = std::move(gpus);
  return launch_specs(job, order, settings).front();
}

TEST(Launch, NamesTheDevicesOfTheLease) {
  const LaunchSpec spec =
      spec_of(std::vector{gpu(0, {"/dev/nvidia1"}), gpu(1, {"/dev/nvidia0"}),
                          gpu(2, {"/dev/nvidia2", "/dev/dri/by-path/pci-0000:01:00.0-card"})});
  EXPECT_TRUE(spec.gpu_filter);
  EXPECT_EQ(spec.gpus, (std::vector<int>{1, 2}));
  EXPECT_EQ(spec.gpu_nodes, (std::vector<std::string>{"/dev/nvidia0", "/dev/nvidia2",
                                                      "/dev/dri/by-path/pci-0000:01:00.0-card"}));
  EXPECT_EQ(spec.gpu_uuids, (std::vector<std::string>{"GPU-1", "GPU-2"}));
  EXPECT_FALSE(check_spec(spec));
}

TEST(Launch, VirtualGpusHaveNoDevice) {
  const LaunchSpec spec = spec_of(std::vector<GpuFacts>());
  EXPECT_TRUE(spec.gpu_filter);
  EXPECT_TRUE(spec.gpu_nodes.empty() && spec.gpu_uuids.empty());
}

TEST(Launch, WithoutAllNodesThereIsNoFilter) {
  EXPECT_FALSE(spec_of(std::nullopt).gpu_filter);
  const LaunchSpec spec = spec_of(std::vector{gpu(0, {}), gpu(1, {"/dev/nvidia1"}), gpu(2, {})});
  EXPECT_FALSE(spec.gpu_filter);
  EXPECT_TRUE(spec.gpu_nodes.empty() && spec.gpu_uuids.empty());
}

}  // namespace
}  // namespace muster
