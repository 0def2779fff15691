#include "engine/planner/locality.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <vector>

#include "base/types/random.h"
#include "engine/core/scene_testing.h"

namespace muster {
namespace {

struct LocalityScene : Scene {
  using Scene::Scene;

  std::string place(const Demand& demand, Locality locality) const {
    return found(demand, [&](const Cluster& nodes, const ResourceLedger& taken, Placement& out) {
      return place_locally(nodes, taken, demand, locality, out);
    });
  }
  std::string place_on_these(const Demand& demand, const std::vector<NodeId>& these) const {
    return found(demand, [&](const Cluster& nodes, const ResourceLedger& taken, Placement& out) {
      return place_on(nodes, taken, demand, these, out);
    });
  }
  std::string ask(const Demand& demand, Locality locality) const {
    std::string text;
    for (const NodeId node : nodes_to_ask(cluster, ledger, demand, locality)) {
      if (!text.empty()) text += ' ';
      text += std::to_string(node.index());
    }
    return text;
  }
};
Demand demand_of(std::int32_t gpus, std::optional<GpuTypeId> type = {}) {
  Demand demand;
  demand.gpus = gpus;
  demand.gpu_type = type;
  return demand;
}

struct PlaceCase {
  const char* name;
  std::vector<SceneNode> nodes;
  std::int32_t gpus;
  const char* fewest;
  const char* one_rack;
  const char* anywhere;
};
class LocalityTest : public testing::TestWithParam<PlaceCase> {};

TEST_P(LocalityTest, PutsTheGangThere) {
  const LocalityScene scene(GetParam().nodes);
  const Demand demand = demand_of(GetParam().gpus);
  EXPECT_EQ(scene.place(demand, Locality::kMinNodes), GetParam().fewest);
  EXPECT_EQ(scene.place(demand, Locality::kOneRack), GetParam().one_rack);
  EXPECT_EQ(scene.place(demand, Locality::kAnywhere), GetParam().anywhere);
}
INSTANTIATE_TEST_SUITE_P(
    Levels, LocalityTest,
    testing::ValuesIn<PlaceCase>({
        {"TheFreestServerFirst", {{8, 2}, {8, 3}, {8, 8}}, 2, "2:2", "2:2", "2:2"},
        {"OnTiesTheLowerServer", {{8, 4}, {8, 4}}, 3, "0:3", "0:3", "0:3"},
        {"WholeServers", {{4, 4}, {4, 3}, {4, 4}}, 8, "0:4 2:4", "0:4 2:4", "0:4 2:4"},
        {"SpreadOnlyIfOneRackWillDo", {{4, 3}, {4, 3}}, 4, "no", "0:3 1:1", "0:3 1:1"},
        {"AcrossRacksOnlyAtTheLast", {{4, 3}, {4, 3, "y"}}, 4, "no", "no", "0:3 1:1"},
        {"NeverMoreThanThereIs", {{4, 3}, {4, 3, "y"}}, 7, "no", "no", "no"},
        {"TheRackWithMostFree", {{4, 4}, {4, 2}, {4, 4, "y"}, {4, 3, "y"}}, 4, "2:4", "2:4", "2:4"},
        {"AnotherRackIfThatIsBroken",
         {{4, 2}, {4, 2}, {4, 2}, {4, 4, "y"}},
         4,
         "3:4",
         "0:2 1:2",
         "0:2 1:2"},
        {"AnywhereTooTheFreestRackFirst",
         {{4, 3}, {4, 2, "y"}, {4, 3, "y"}},
         6,
         "no",
         "no",
         "0:1 1:2 2:3"},
        {"LargeServersMakeFewest", {{4, 4}, {4, 4}, {8, 8}}, 12, "0:4 2:8", "0:4 2:8", "0:4 2:8"},
        {"BrokenLargeServersMakeItWait",
         {{4, 4}, {4, 4}, {8, 4}},
         12,
         "no",
         "0:4 1:4 2:4",
         "0:4 1:4 2:4"},
        {"ASmallGangOnTwoSmallServersOnlyWhereThereAreNoLarger",
         {{8, 1}, {2, 2}, {2, 2}, {2, 2, "y"}, {2, 2, "y"}},
         3,
         "3:2 4:1",
         "1:2 2:1",
         "1:2 2:1"},
        {"ASingleGpuWhereFewestAreLeft", {{8, 8}, {8, 3}, {8, 1}}, 1, "2:1", "2:1", "2:1"},
        {"ASingleGpuInAnyRack", {{8, 8}, {8, 8}, {8, 7, "y"}}, 1, "2:1", "2:1", "2:1"},
        {"ASingleGpuBreaksTheFirstWholeServer", {{4, 0}, {4, 4}, {4, 4}}, 1, "1:1", "1:1", "1:1"},
        {"ASingleGpuOnTheServerThatIsSmallest", {{8, 4}, {2, 2}}, 1, "1:1", "1:1", "1:1"},
    }),
    [](const auto& row) { return row.param.name; });

TEST(Locality, KeepsToTheGpuTypeAskedFor) {
  const LocalityScene scene(
      {{8, 1}, {2, 2, "r0", "b"}, {2, 1, "r0", "b"}, {2, 2, "y", "b"}, {8, 8}});
  const GpuTypeId b(1);  // GPUs of type a would always be better.
  for (const Locality level : {Locality::kMinNodes, Locality::kOneRack, Locality::kAnywhere}) {
    EXPECT_EQ(scene.place(demand_of(1, b), level), "2:1");
    EXPECT_EQ(scene.place(demand_of(2, b), level), "1:2");
    EXPECT_EQ(scene.place(demand_of(3, b), level), "1:2 2:1");
    EXPECT_EQ(scene.place(demand_of(5, b), level),
              level == Locality::kAnywhere ? "1:2 2:1 3:2" : "no");
    EXPECT_EQ(scene.place(demand_of(6, b), level), "no");
  }
  EXPECT_EQ(scene.ask(demand_of(3, b), Locality::kMinNodes), "1 2");
  EXPECT_EQ(scene.ask(demand_of(4, b), Locality::kAnywhere), "1 2 3");
}

TEST(Locality, AsksForTheServersNearestToHavingRoom) {
  const LocalityScene scene({{4, 0}, {4, 2}, {4, 1}, {4, 3, "y"}, {4, 1, "y"}, {4, 1, "y"}});
  EXPECT_EQ(scene.ask(demand_of(4), Locality::kMinNodes), "3") << "the rack with five free";
  EXPECT_EQ(scene.ask(demand_of(8), Locality::kMinNodes), "3 4");
  EXPECT_EQ(scene.ask(demand_of(4), Locality::kOneRack), "3 4") << "twice as many will do too";
  EXPECT_EQ(scene.ask(demand_of(12), Locality::kOneRack), "3 4 5") << "but not more than exist";
  EXPECT_EQ(scene.ask(demand_of(4), Locality::kAnywhere), "3 4");
  EXPECT_EQ(scene.ask(demand_of(8), Locality::kAnywhere), "3 4 5 1") << "room for it twice over";
  EXPECT_EQ(scene.ask(demand_of(20), Locality::kAnywhere), "3 4 5 1 2 0");
  EXPECT_EQ(scene.ask(demand_of(13), Locality::kMinNodes), "") << "no rack could ever hold it";
}

TEST(Locality, AsksARackThatCouldHoldIt) {
  const LocalityScene scene({{4, 4}, {4, 4}, {8, 1, "y"}, {8, 1, "y"}});
  EXPECT_EQ(scene.ask(demand_of(16), Locality::kMinNodes), "2 3");
  EXPECT_EQ(scene.ask(demand_of(8), Locality::kMinNodes), "0 1");
}

TEST(Locality, PlacesOnTheServersNamedOnly) {
  const LocalityScene scene({{4, 4}, {4, 1}, {4, 3}, {4, 4}});
  const std::vector<NodeId> two = {NodeId(1), NodeId(2)};
  EXPECT_EQ(scene.place_on_these(demand_of(2), two), "2:2") << "on as few as it takes";
  EXPECT_EQ(scene.place_on_these(demand_of(4), two), "1:1 2:3");
  EXPECT_EQ(scene.place_on_these(demand_of(5), two), "no");
  EXPECT_EQ(scene.place_on_these(demand_of(1), {}), "no");
}

// ------------------------------------------------------------------ against all sets of nodes

struct AnyCase {
  explicit AnyCase(std::uint64_t seed) {
    Random random(seed);
    const auto below = [&](std::int32_t bound) {
      return static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(bound)));
    };
    static constexpr const char* kRacks[] = {"r0", "y", "z"};
    alike = random.below(2) == 0;
    const std::int32_t count = 1 + below(7);
    for (std::int32_t i = 0; i < count; ++i) {
      SceneNode node{alike ? 4 : 1 + below(8), 0, kRacks[below(3)],
                     random.below(4) != 0 ? "a" : "b"};
      node.free = random.below(3) == 0 ? node.gpus : below(node.gpus + 1);
      nodes.push_back(node);
    }
    demand.gpus = 1 + below(14);
    const Topology topology = LocalityScene::build(nodes);
    if (random.below(4) == 0) {
      demand.gpu_type = GpuTypeId(below(static_cast<std::int32_t>(topology.gpu_type_count())));
    }
  }
  bool alike = false;
  std::vector<SceneNode> nodes;
  Demand demand;
};

// Minimum number of nodes per rack for the gang if all were idle, and now. Tries every set.
struct RackFacts {
  std::int32_t free = 0;
  std::optional<std::size_t> when_empty;
  std::optional<std::size_t> now;
};
std::vector<RackFacts> facts_of(const LocalityScene& scene, const Demand& demand) {
  std::vector<RackFacts> racks(scene.topology.rack_count());
  const std::size_t count = scene.topology.node_count();
  for (std::uint32_t set = 1; set < 1U << count; ++set) {
    std::int32_t free = 0;
    std::int32_t capacity = 0;
    std::optional<RackId> rack;
    bool fits = true;
    for (std::size_t i = 0; i < count; ++i) {
      if ((set >> i & 1) == 0) continue;
      const NodeId node(i);
      if (!rack) rack = scene.topology.node(node).rack;
      fits = fits && scene.topology.node(node).rack == *rack && demand.allows(scene.cluster, node);
      free += scene.ledger.free_gpus(node);
      capacity += scene.topology.node(node).capacity.gpus;
    }
    if (!fits) continue;
    RackFacts& facts = racks[rack->index()];
    const auto size = static_cast<std::size_t>(std::popcount(set));
    facts.free = std::max(facts.free, free);
    if (capacity >= demand.gpus && size < facts.when_empty.value_or(99)) facts.when_empty = size;
    if (free >= demand.gpus && size < facts.now.value_or(99)) facts.now = size;
  }
  return racks;
}

// The expected rack: the one with the most free GPUs that fits at this level; the first in a tie.
std::optional<std::size_t> rack_to_take(const std::vector<RackFacts>& racks, Locality level) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < racks.size(); ++i) {
    if (!racks[i].now) continue;
    if (level == Locality::kMinNodes && *racks[i].now > *racks[i].when_empty) continue;
    if (!best || racks[i].free > racks[*best].free) best = i;
  }
  return best;
}

TEST(LocalityProperty, FindsTheFewestServersOfTheRightRack) {
  int found_at[2] = {0, 0};
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(testing::Message() << "reproduce with seed " << seed);
    const AnyCase any(seed);
    if (any.demand.gpus == 1) continue;
    const LocalityScene scene(any.nodes);
    const std::vector<RackFacts> racks = facts_of(scene, any.demand);
    for (const Locality level : {Locality::kMinNodes, Locality::kOneRack}) {
      Placement out;
      const bool found = place_locally(scene.cluster, scene.ledger, any.demand, level, out);
      const std::optional<std::size_t> rack = rack_to_take(racks, level);
      ASSERT_EQ(found, rack.has_value());
      if (!found) continue;
      ++found_at[level == Locality::kOneRack ? 1 : 0];
      ASSERT_EQ(total_of(out).gpus, any.demand.gpus);
      ASSERT_TRUE(scene.ledger.can_take(out));
      ASSERT_EQ(out.size(), *racks[*rack].now);
      for (const Share& share : out) {
        ASSERT_EQ(scene.topology.node(share.node).rack, RackId(*rack));
        ASSERT_TRUE(any.demand.allows(scene.cluster, share.node));
      }
    }
    std::int32_t free = 0;
    for (const RackFacts& facts : racks) free += facts.free;
    ASSERT_EQ(scene.place(any.demand, Locality::kAnywhere) != "no", free >= any.demand.gpus);
  }
  EXPECT_GT(found_at[0], 500);
  EXPECT_GT(found_at[1], found_at[0]) << "a lower level finds more";
}

// Properties of the requested nodes if the gang fits into a rack: they are in one rack, have the
// minimum number or twice that, and could hold the gang.
void expect_could_hold_it(bool alike) {
  int asked_for = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(testing::Message() << "reproduce with seed " << seed);
    const AnyCase any(seed);
    if (any.alike != alike) continue;
    const LocalityScene scene(any.nodes);
    const std::vector<RackFacts> racks = facts_of(scene, any.demand);
    for (const Locality level : {Locality::kMinNodes, Locality::kOneRack}) {
      const std::vector<NodeId> asked =
          nodes_to_ask(scene.cluster, scene.ledger, any.demand, level);
      const bool possible = std::any_of(racks.begin(), racks.end(), [](const RackFacts& rack) {
        return rack.when_empty.has_value();
      });
      ASSERT_EQ(!asked.empty(), possible);
      if (!possible) continue;
      ++asked_for;
      const RackId rack = scene.topology.node(asked[0]).rack;
      const std::size_t fewest = *racks[rack.index()].when_empty;
      ASSERT_GE(asked.size(), fewest);
      ASSERT_LE(asked.size(), level == Locality::kOneRack ? 2 * fewest : fewest);
      std::int32_t capacity = 0;
      for (const NodeId node : asked) {
        ASSERT_EQ(scene.topology.node(node).rack, rack);
        ASSERT_TRUE(any.demand.allows(scene.cluster, node));
        capacity += scene.topology.node(node).capacity.gpus;
      }
      ASSERT_GE(capacity, any.demand.gpus) << "it would wait for the impossible";
    }
  }
  EXPECT_GT(asked_for, 500);
}
TEST(LocalityProperty, TheServersAskedForCouldHoldTheGang) { expect_could_hold_it(true); }
TEST(LocalityProperty, ServersOfOtherSizesAskedForCouldHoldTheGangToo) {
  expect_could_hold_it(false);
}

}  // namespace
}  // namespace muster
