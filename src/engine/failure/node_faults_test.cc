#include "engine/failure/node_faults.h"

#include <gtest/gtest.h>

#include <cmath>

namespace muster {
namespace {

Duration hours(std::int64_t n) { return Duration::seconds(3600 * n); }

TEST(NodeFaults, NeverHappenUnlessAskedFor) {
  EXPECT_EQ(NodeFaults(NodeFaultOptions{}, 1).outage(NodeId(3), 0), std::nullopt);
}

TEST(NodeFaults, DependOnTheSeedTheServerAndTheNumberOnly) {
  const NodeFaults faults({.mtbf = hours(100)}, 1);
  const std::optional<Outage> first = faults.outage(NodeId(3), 0);
  ASSERT_TRUE(first.has_value());
  EXPECT_NE(faults.outage(NodeId(3), 1), first);
  EXPECT_NE(faults.outage(NodeId(4), 0), first);
  EXPECT_NE(NodeFaults({.mtbf = hours(100)}, 2).outage(NodeId(3), 0), first);
  EXPECT_EQ(faults.outage(NodeId(3), 0), first);
}

TEST(NodeFaults, AreExponential) {
  const NodeFaults faults({.mtbf = hours(100), .repair = hours(2)}, 1);
  constexpr int kNodes = 200;
  constexpr int kOutages = 100;
  constexpr int kDraws = kNodes * kOutages;
  double up = 0;
  double away = 0;
  int long_up = 0;
  int long_away = 0;
  for (int node = 0; node < kNodes; ++node) {
    for (std::uint32_t k = 0; k < kOutages; ++k) {
      const Outage outage = faults.outage(NodeId(node), k).value();
      EXPECT_GT(outage.lasts, Duration());
      up += outage.after.in_hours() / kDraws;
      away += outage.lasts.in_hours() / kDraws;
      long_up += outage.after > hours(100) ? 1 : 0;
      long_away += outage.lasts > hours(2) ? 1 : 0;
    }
  }
  // The mean of n exponential times has a standard error of 1 / sqrt(n) = 0.7% of it.
  EXPECT_NEAR(up, 100, 4);
  EXPECT_NEAR(away, 2, 0.08);
  const double beyond = kDraws * std::exp(-1.0);  // Expected number above the mean.
  EXPECT_NEAR(long_up, beyond, 5 * std::sqrt(beyond));
  EXPECT_NEAR(long_away, beyond, 5 * std::sqrt(beyond));
}

TEST(NodeFaults, StayWithinBounds) {
  const NodeFaults rare({.mtbf = Duration::max(), .repair = Duration()}, 1);
  for (int node = 0; node < 100; ++node) {
    const Outage outage = rare.outage(NodeId(node), 0).value();
    EXPECT_LE(outage.after, kLongestDuration);
    EXPECT_EQ(outage.lasts, Duration::micros(1));
  }
}

}  // namespace
}  // namespace muster
