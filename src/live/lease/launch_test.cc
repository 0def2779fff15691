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

}  // namespace
}  // namespace muster
