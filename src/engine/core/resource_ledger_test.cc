#include "engine/core/resource_ledger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/types/check.h"
#include "base/types/random.h"

namespace muster {
namespace {

constexpr Resources kNode = {8, 24'000, 512'000, 500'000};

Topology nodes(std::size_t count, const Resources& each) {
  Topology topology;
  for (std::size_t i = 0; i < count; ++i) {
    MUSTER_CHECK(!topology.add_node("s" + std::to_string(i), "r", "gpu", each));
  }
  return topology;
}

// Random nodes of 1 to 8 GPUs and two GPU types.
Topology mixed_nodes(std::size_t count, Random& random) {
  Topology topology;
  for (std::size_t i = 0; i < count; ++i) {
    const auto gpus = static_cast<std::int32_t>(1 + random.below(8));
    const Resources each = {gpus, 1000 * gpus + static_cast<std::int64_t>(random.below(3000)),
                            100 * gpus + static_cast<std::int64_t>(random.below(300)),
                            static_cast<std::int64_t>(random.below(900))};
    MUSTER_CHECK(!topology.add_node("s" + std::to_string(i), "r", i % 3 == 0 ? "a" : "b", each));
  }
  return topology;
}

// Reference implementation of the ledger: plain lists and linear scans.
struct NaiveLedger {
  NaiveLedger(const Topology& nodes, bool one_pool) : topology(&nodes), pooled(one_pool) {
    for (const Node& node : nodes.nodes()) {
      free.emplace_back(static_cast<std::size_t>(node.capacity.gpus), true);
      room.push_back(node.capacity);
    }
  }

  std::int32_t free_on(std::size_t node) const {
    return static_cast<std::int32_t>(std::count(free[node].begin(), free[node].end(), true));
  }
  Resources room_for(std::size_t node) const {
    if (!pooled) return room[node];
    Resources sum;
    for (const Resources& each : room) sum += each;
    return sum;
  }
  std::size_t next(std::size_t from, std::int32_t least, std::int32_t most) const {
    while (from < free.size() && (free_on(from) < least || free_on(from) > most)) ++from;
    return std::min(from, free.size());
  }
  std::int32_t gpus_with(std::size_t node, const Resources& per_gpu) const {
    std::int32_t most = 0;
    while (most < free_on(node)) {
      const Resources more = per_gpu * (most + 1);
      const Resources here = room_for(node);
      if (more.cpu_milli > here.cpu_milli || more.mem_mib > here.mem_mib ||
          more.storage_kbps > here.storage_kbps) {
        break;
      }
      ++most;
    }
    return most;
  }
  bool can_take(const Share& share) const {
    if (share.node.index() >= free.size() || share.slots == 0) return false;
    const std::vector<bool>& slots = free[share.node.index()];
    for (std::size_t bit = 0; bit < 64; ++bit) {
      if ((share.slots >> bit & 1) != 0 && (bit >= slots.size() || !slots[bit])) return false;
    }
    const Resources here = room_for(share.node.index());
    return share.cpu_milli >= 0 && share.mem_mib >= 0 && share.storage_kbps >= 0 &&
           share.cpu_milli <= here.cpu_milli && share.mem_mib <= here.mem_mib &&
           share.storage_kbps <= here.storage_kbps;
  }
  void change(const Share& share, bool give) {
    std::vector<bool>& slots = free[share.node.index()];
    for (std::size_t bit = 0; bit < slots.size(); ++bit) {
      if ((share.slots >> bit & 1) != 0) slots[bit] = give;
    }
    const Resources part = {0, share.cpu_milli, share.mem_mib, share.storage_kbps};
    room[share.node.index()] = give ? room[share.node.index()] + part  //
                                    : room[share.node.index()] - part;
  }

  const Topology* topology;
  bool pooled;
  std::vector<std::vector<bool>> free;
  std::vector<Resources> room;  // If pooled, only the sum is meaningful.
};

// Returns a share that is valid or invalid: slots in use, too much, negative, or an unknown node.
Share any_share(const Topology& topology, Random& random) {
  Share share;
  share.node = NodeId(static_cast<std::size_t>(random.below(topology.node_count() + 1)));
  share.slots = random.next() & random.next() & 0x1ff;
  share.cpu_milli = static_cast<std::int64_t>(random.below(4000)) - 20;
  share.mem_mib = static_cast<std::int64_t>(random.below(400)) - 2;
  share.storage_kbps = static_cast<std::int64_t>(random.below(300)) - 2;
  return share;
}

void expect_same(const ResourceLedger& ledger, const NaiveLedger& naive, Random& random) {
  const std::size_t nodes = naive.free.size();
  const auto node = static_cast<std::size_t>(random.below(nodes));
  const NodeId id(node);
  ASSERT_EQ(ledger.free_gpus(id), naive.free_on(node));
  for (std::size_t bit = 0; bit < naive.free[node].size(); ++bit) {
    ASSERT_EQ((ledger.free_slots(id) >> bit & 1) != 0, naive.free[node][bit]);
  }
  const Resources room = naive.room_for(node);
  ASSERT_EQ(ledger.room(id).cpu_milli, room.cpu_milli);
  ASSERT_EQ(ledger.room(id).mem_mib, room.mem_mib);
  ASSERT_EQ(ledger.room(id).storage_kbps, room.storage_kbps);
  const Resources per_gpu = {1, static_cast<std::int64_t>(random.below(2500)),
                             static_cast<std::int64_t>(random.below(250)),
                             static_cast<std::int64_t>(random.below(200))};
  ASSERT_EQ(ledger.gpus_with(id, per_gpu), naive.gpus_with(node, per_gpu));
  const auto from = static_cast<std::size_t>(random.below(nodes + 2));
  ASSERT_EQ(ledger.next_with_free(NodeId(from)).index(), naive.next(from, 1, 64))
      << "from " << from;
  const auto count = static_cast<std::int32_t>(random.below(9));
  ASSERT_EQ(ledger.next_with_exactly(count, NodeId(from)).index(), naive.next(from, count, count))
      << "exactly " << count << " from " << from;
}

void expect_same_totals(const ResourceLedger& ledger, const NaiveLedger& naive) {
  std::int32_t total = 0;
  std::vector<std::int32_t> by_type(naive.topology->gpu_type_count());
  for (std::size_t node = 0; node < naive.free.size(); ++node) {
    total += naive.free_on(node);
    by_type[naive.topology->node(NodeId(node)).gpu_type.index()] += naive.free_on(node);
  }
  EXPECT_EQ(ledger.free_gpus(), total);
  for (std::size_t type = 0; type < by_type.size(); ++type) {
    EXPECT_EQ(ledger.free_gpus(GpuTypeId(type)), by_type[type]);
  }
}

// Changes the CPU, memory and storage of the same slots; keeps the old amount if the new one does
// not fit.
void resize(ResourceLedger& ledger, NaiveLedger& naive, Share& share, Random& random) {
  ledger.give_room(share);
  naive.change(share, true);
  Share other = any_share(ledger.topology(), random);
  other.node = share.node;
  other.slots = share.slots;
  if (naive.can_take(other)) share = other;
  ledger.take_room(share);
  naive.change(share, false);
}

void walk_randomly(std::uint64_t seed, std::size_t nodes, Pooling pooling, int steps) {
  SCOPED_TRACE(testing::Message() << "reproduce with seed " << seed << ", " << nodes << " nodes"
                                  << (pooling == Pooling::kWholeCluster ? ", pooled" : ""));
  Random random(seed);
  const Topology topology = mixed_nodes(nodes, random);
  ResourceLedger ledger(topology, pooling);
  NaiveLedger naive(topology, pooling == Pooling::kWholeCluster);
  std::vector<Share> held;
  // Take most nodes first, so that whole words of the index are empty and must be skipped.
  for (std::size_t i = 0; i < nodes; ++i) {
    if (random.below(nodes) < 20) continue;
    const Share all = {NodeId(i), ledger.free_slots(NodeId(i)), 0, 0, 0};
    ledger.take(all);
    naive.change(all, false);
    held.push_back(all);
  }
  for (int step = 0; step < steps; ++step) {
    const Share share = any_share(topology, random);
    ASSERT_EQ(ledger.can_take(share), naive.can_take(share)) << "step " << step;
    if (ledger.can_take(share) && random.below(4) != 0) {
      ledger.take(share);
      naive.change(share, false);
      held.push_back(share);
    } else if (!held.empty() && random.below(3) == 0) {
      std::swap(held[random.below(held.size())], held.back());
      ledger.give(held.back());
      naive.change(held.back(), true);
      held.pop_back();
    } else if (!held.empty()) {
      resize(ledger, naive, held[random.below(held.size())], random);
    }
    ASSERT_NO_FATAL_FAILURE(expect_same(ledger, naive, random)) << "step " << step;
  }
  expect_same_totals(ledger, naive);
}

TEST(BooksProperty, AgreeWithPlainListsOnSmallClusters) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Pooling pooling = seed % 2 == 0 ? Pooling::kPerNode : Pooling::kWholeCluster;
    walk_randomly(seed, 1 + seed % 12, pooling, 300);
  }
}

TEST(BooksProperty, AgreeWithPlainListsAcrossTheEdgesOfTheIndex) {
  std::uint64_t seed = 1000;
  for (const std::size_t nodes : {63U, 64U, 65U, 128U, 129U, 4095U, 4096U, 4097U, 8200U}) {
    walk_randomly(seed++, nodes, Pooling::kPerNode, 150);
  }
  walk_randomly(seed, 65, Pooling::kWholeCluster, 300);
}

TEST(ResourceLedger, FindTheOnlyFreeServerWhereverItIs) {
  constexpr std::size_t kNodes = 4096 * 2 + 70;
  const Topology topology = nodes(kNodes, {2, 10, 10, 10});
  ResourceLedger ledger(topology, Pooling::kPerNode);
  for (std::size_t i = 0; i < kNodes; ++i) ledger.take({NodeId(i), 0b11, 0, 0, 0});
  EXPECT_EQ(ledger.next_with_free(NodeId(0)), ledger.no_node());
  EXPECT_EQ(ledger.next_with_exactly(0, NodeId(4096)), NodeId(4096));
  for (const std::size_t only : {0UL, 63UL, 64UL, 4095UL, 4096UL, 4159UL, 8191UL, kNodes - 1}) {
    ledger.give({NodeId(only), 0b01, 0, 0, 0});
    EXPECT_EQ(ledger.next_with_free(NodeId(0)), NodeId(only));
    EXPECT_EQ(ledger.next_with_exactly(1, NodeId(0)), NodeId(only));
    EXPECT_EQ(ledger.next_with_exactly(2, NodeId(0)), ledger.no_node());
    EXPECT_EQ(ledger.next_with_free(NodeId(only)), NodeId(only));
    EXPECT_EQ(ledger.next_with_free(NodeId(only + 1)), ledger.no_node());
    ledger.take({NodeId(only), 0b01, 0, 0, 0});
  }
  EXPECT_EQ(ledger.free_gpus(), 0);
}

TEST(ResourceLedger, KnowOfNoServerWithMoreFreeGpusThanAnyHas) {
  const Topology topology = nodes(3, kNode);
  const ResourceLedger ledger(topology, Pooling::kPerNode);
  EXPECT_EQ(ledger.next_with_exactly(8, NodeId(0)), NodeId(0));
  EXPECT_EQ(ledger.next_with_exactly(9, NodeId(0)), ledger.no_node());
  EXPECT_EQ(ledger.next_with_exactly(64, NodeId(0)), ledger.no_node());
}

TEST(ResourceLedger, CountAllGpusOfTheLargestServer) {
  const Topology topology = nodes(1, {64, 64, 64, 64});
  ResourceLedger ledger(topology, Pooling::kPerNode);
  EXPECT_EQ(ledger.free_slots(NodeId(0)), ~SlotMask{0});
  ledger.take({NodeId(0), ~SlotMask{0}, 64, 64, 64});
  EXPECT_EQ(ledger.free_gpus(), 0);
  EXPECT_EQ(ledger.next_with_exactly(64, NodeId(0)), ledger.no_node());
  ledger.give({NodeId(0), SlotMask{1} << 63, 1, 1, 1});
  EXPECT_EQ(ledger.next_with_exactly(1, NodeId(0)), NodeId(0));
}

struct TakeCase {
  const char* name;
  Share share;
  bool want;
};
class BooksTakeTest : public testing::TestWithParam<TakeCase> {};

// The lower four slots and half of all resources of node 0 are taken.
TEST_P(BooksTakeTest, SaysWhetherTheShareIsThere) {
  const Topology topology = nodes(2, kNode);
  ResourceLedger ledger(topology, Pooling::kPerNode);
  ledger.take({NodeId(0), 0x0f, 12'000, 256'000, 250'000});
  EXPECT_EQ(ledger.can_take(GetParam().share), GetParam().want);
}
INSTANTIATE_TEST_SUITE_P(
    ResourceLedger, BooksTakeTest,
    testing::ValuesIn<TakeCase>({
        {"AllThatIsLeft", {NodeId(0), 0xf0, 12'000, 256'000, 250'000}, true},
        {"NothingBesideTheGpu", {NodeId(0), 0x80, 0, 0, 0}, true},
        {"NoGpu", {NodeId(0), 0, 1000, 1000, 1000}, false},
        {"ATakenSlot", {NodeId(0), 0x18, 0, 0, 0}, false},
        {"ASlotTheServerHasNot", {NodeId(0), 0x100, 0, 0, 0}, false},
        {"TooManyCpus", {NodeId(0), 0x10, 12'001, 0, 0}, false},
        {"TooMuchMemory", {NodeId(0), 0x10, 0, 256'001, 0}, false},
        {"TooMuchStorage", {NodeId(0), 0x10, 0, 0, 250'001}, false},
        {"NegativeCpus", {NodeId(0), 0x10, -1, 0, 0}, false},
        {"NegativeMemory", {NodeId(0), 0x10, 0, -1, 0}, false},
        {"NegativeStorage", {NodeId(0), 0x10, 0, 0, -1}, false},
        {"TheOtherServerWhole", {NodeId(1), 0xff, 24'000, 512'000, 500'000}, true},
        {"NoSuchServer", {NodeId(2), 0x01, 0, 0, 0}, false},
        {"NoSuchServerByFar", {NodeId(~std::uint32_t{0}), 0x01, 0, 0, 0}, false},
    }),
    [](const auto& row) { return row.param.name; });

struct GangCase {
  const char* name;
  Placement placement;
  bool per_node;
  bool pooled;
};
class BooksGangTest : public testing::TestWithParam<GangCase> {};

TEST_P(BooksGangTest, SaysWhetherTheGangFits) {
  const Topology topology = nodes(3, {2, 100, 100, 100});
  EXPECT_EQ(ResourceLedger(topology, Pooling::kPerNode).can_take(GetParam().placement),
            GetParam().per_node);
  EXPECT_EQ(ResourceLedger(topology, Pooling::kWholeCluster).can_take(GetParam().placement),
            GetParam().pooled);
}
INSTANTIATE_TEST_SUITE_P(
    ResourceLedger, BooksGangTest,
    testing::ValuesIn<GangCase>({
        {"Empty", {}, false, false},
        {"OneServer", {{NodeId(1), 3, 100, 100, 100}}, true, true},
        {"TwoServers", {{NodeId(0), 1, 100, 1, 1}, {NodeId(2), 1, 100, 1, 1}}, true, true},
        {"OutOfOrder", {{NodeId(2), 1, 1, 1, 1}, {NodeId(0), 1, 1, 1, 1}}, false, false},
        {"OneServerTwice", {{NodeId(1), 1, 1, 1, 1}, {NodeId(1), 2, 1, 1, 1}}, false, false},
        {"OneShareBad", {{NodeId(0), 1, 1, 1, 1}, {NodeId(1), 4, 1, 1, 1}}, false, false},
        {"MoreThanAServer", {{NodeId(0), 1, 101, 1, 1}}, false, true},
        {"MoreThanThePool",
         {{NodeId(0), 1, 150, 1, 1}, {NodeId(1), 1, 100, 1, 1}, {NodeId(2), 1, 51, 1, 1}},
         false,
         false},
    }),
    [](const auto& row) { return row.param.name; });

TEST(BooksDeathTest, StopAtAShareTakenTwiceOrGivenTwice) {
  const Topology topology = nodes(1, kNode);
  ResourceLedger ledger(topology, Pooling::kPerNode);
  const Share share = {NodeId(0), 0b1, 1, 1, 1};
  ledger.take(share);
  EXPECT_DEATH(ledger.take(share), "broken invariant");
  ledger.give(share);
  EXPECT_DEATH(ledger.give(share), "broken invariant");
}

TEST(LowestSlots, PickFromTheBottom) {
  EXPECT_EQ(lowest_slots(0b1011'0100, 0), 0U);
  EXPECT_EQ(lowest_slots(0b1011'0100, 2), 0b1'0100U);
  EXPECT_EQ(lowest_slots(~SlotMask{0}, 64), ~SlotMask{0});
  EXPECT_DEATH(static_cast<void>(lowest_slots(0b11, 3)), "broken invariant");
}

TEST(Placement, AddsUpAndComparesBySlots) {
  const Placement gang = {{NodeId(0), 0b11, 10, 20, 30}, {NodeId(4), 0b100, 1, 2, 3}};
  EXPECT_EQ(total_of(gang), (Resources{3, 11, 22, 33}));
  Placement other = gang;
  other[1].cpu_milli = 99;
  EXPECT_TRUE(same_slots(gang, other));
  other[1].slots = 0b10;
  EXPECT_FALSE(same_slots(gang, other));
  other.pop_back();
  EXPECT_FALSE(same_slots(gang, other));
}

}  // namespace
}  // namespace muster
