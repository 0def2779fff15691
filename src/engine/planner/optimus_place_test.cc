#include "engine/planner/optimus_place.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/types/random.h"

namespace muster {
namespace {

// Takes GPUs of a node, the lowest free ones.
Share take(const Cluster& cluster, ResourceLedger& ledger, int node, std::int32_t gpus) {
  const Resources amount = cluster.fair(NodeId(node)) * gpus;
  const Share share = {NodeId(node), lowest_slots(ledger.free_slots(NodeId(node)), gpus),
                       amount.cpu_milli, amount.mem_mib, amount.storage_kbps};
  ledger.take(share);
  return share;
}

std::string text_of(const Placement& placement) {
  std::string text;
  for (const Share& share : placement) {
    if (!text.empty()) text += ' ';
    text += std::to_string(share.node.index()) + ':' + std::to_string(share.gpus());
  }
  return text;
}

// A cluster on which the given numbers of GPUs of its nodes are free.
class Ground {
 public:
  explicit Ground(const std::vector<std::int32_t>& free)
      : topology_(parse_cluster_shorthand(std::to_string(free.size()) + "x8").value()),
        cluster_(topology_, profiles_),
        ledger_(topology_, Pooling::kPerNode) {
    for (std::size_t i = 0; i < free.size(); ++i) {
      if (free[i] < 8) take(cluster_, ledger_, static_cast<int>(i), 8 - free[i]);
    }
  }
  std::string place(std::int32_t gpus, const Placement& held = {}) {
    if (!place_evenly(cluster_, ledger_, gpus, GpuTypeId(), held, last)) return "none";
    ResourceLedger after = ledger_;
    for (const Share& share : held) after.give(share);
    EXPECT_TRUE(after.can_take(last));
    return text_of(last);
  }
  Placement hold(const std::vector<std::pair<int, std::int32_t>>& shares) {
    Placement held;
    for (const auto& [node, gpus] : shares) held.push_back(take(cluster_, ledger_, node, gpus));
    return held;
  }

  Placement last;

 private:
  Topology topology_;
  ProfileTable profiles_;
  Cluster cluster_;
  ResourceLedger ledger_;
};

TEST(OptimusPlace, TakesOneServerWhereOneWillDo) {
  Ground ground({8, 3, 5, 4});
  EXPECT_EQ(ground.place(4), "3:4") << "the tightest";
  EXPECT_EQ(ground.place(5), "2:5");
  EXPECT_EQ(ground.place(6), "0:6");
  EXPECT_EQ(ground.place(1), "1:1");
}

TEST(OptimusPlace, TakesEqualNumbersOnTheFewestServers) {
  EXPECT_EQ(Ground({7, 2, 4, 4}).place(8), "2:4 3:4") << "not seven and one";
  EXPECT_EQ(Ground({8, 8, 8, 8}).place(9), "0:5 1:4");
  EXPECT_EQ(Ground({8, 4, 8, 8}).place(9), "0:5 1:4");
  EXPECT_EQ(Ground({8, 8, 8, 8}).place(20), "0:7 1:7 2:6");
  EXPECT_EQ(Ground({1, 1, 1, 1}).place(4), "0:1 1:1 2:1 3:1");
}

TEST(OptimusPlace, WhereThereAreNoEqualNumbersItTakesWhatThereIs) {
  EXPECT_EQ(Ground({1, 7, 1, 1}).place(10), "0:1 1:7 2:1 3:1");
  EXPECT_EQ(Ground({1, 7, 2, 1}).place(9), "1:7 2:2");
  EXPECT_EQ(Ground({1, 7, 1, 1}).place(11), "none");
}

TEST(OptimusPlace, GrowsAndShrinksOnItsOwnServers) {
  Ground ground({8, 8, 8});
  const Placement held = ground.hold({{1, 3}, {2, 3}});
  EXPECT_EQ(ground.place(10, held), "1:5 2:5");
  EXPECT_EQ(ground.last[0].slots & held[0].slots, held[0].slots);
  EXPECT_EQ(ground.last[1].slots & held[1].slots, held[1].slots);
  EXPECT_EQ(ground.place(3, held), "1:3") << "fewer nodes than before";
  EXPECT_EQ(ground.last[0].slots, held[0].slots);
  EXPECT_EQ(ground.place(2, held), "1:2");
}

TEST(OptimusPlace, LeavesItsServersForFewerOnes) {
  Ground ground({2, 2, 5});
  const Placement held = ground.hold({{0, 2}, {1, 2}});
  EXPECT_EQ(ground.place(3, held), "2:3");
  EXPECT_EQ(ground.place(5, held), "2:5");
  EXPECT_EQ(ground.place(6, held), "0:2 1:2 2:2");
  EXPECT_EQ(Ground({2, 2, 1}).place(1), "2:1");
}

TEST(OptimusPlace, StaysWithinOneType) {
  Topology topology;
  ASSERT_FALSE(topology.add_node("a", "r", "old", {4, 4000, 4000, 4000}));
  ASSERT_FALSE(topology.add_node("b", "r", "new", {4, 8000, 8000, 8000}));
  const ProfileTable profiles;
  const Cluster cluster(topology, profiles);
  ResourceLedger ledger(topology, Pooling::kPerNode);
  Placement out;
  ASSERT_TRUE(place_evenly(cluster, ledger, 4, GpuTypeId(1), {}, out));
  EXPECT_EQ(text_of(out), "1:4");
  EXPECT_EQ(out[0].cpu_milli, 8000);
  EXPECT_FALSE(place_evenly(cluster, ledger, 5, GpuTypeId(1), {}, out));
  EXPECT_TRUE(out.empty());
}

// It always finds a place if enough GPUs are free, and never a worse one than the rule allows.
TEST(OptimusPlaceProperty, FindsWhatThereIs) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(testing::Message() << "reproduce with seed " << seed);
    Random random(seed);
    std::vector<std::int32_t> free(1 + random.below(6));
    std::int32_t all = 0;
    for (std::int32_t& each : free) all += each = static_cast<std::int32_t>(random.below(9));
    Ground ground(free);
    Placement held;
    for (std::size_t i = 0; i < free.size(); ++i) {
      if (free[i] == 0 || random.below(2) == 0) continue;
      const auto gpus =
          static_cast<std::int32_t>(1 + random.below(static_cast<std::uint64_t>(free[i])));
      held.push_back(ground.hold({{static_cast<int>(i), gpus}}).front());
    }
    const auto gpus =
        static_cast<std::int32_t>(1 + random.below(static_cast<std::uint64_t>(all + 2)));
    EXPECT_EQ(ground.place(gpus, held) == "none", gpus > all);
    std::int32_t got = 0;
    for (const Share& share : ground.last) got += share.gpus();
    EXPECT_EQ(got, gpus > all ? 0 : gpus);
  }
}

}  // namespace
}  // namespace muster
