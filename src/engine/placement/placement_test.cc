#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/types/random.h"
#include "engine/core/scene_testing.h"
#include "engine/placement/registry.h"

namespace muster {
namespace {

struct PlacementScene : Scene {
  using Scene::Scene;

  std::string place(std::string_view placement, const Demand& demand) const {
    const auto placer = find_entry(placements(), "placement", placement).value()->make();
    return found(demand, [&](const Cluster& nodes, const ResourceLedger& taken, Placement& out) {
      return placer->place(nodes, taken, demand, out);
    });
  }
};

struct PlaceCase {
  const char* name;
  const char* placement;
  std::vector<SceneNode> nodes;
  std::int32_t gpus;
  const char* want;
};
class PlacementTest : public testing::TestWithParam<PlaceCase> {};

TEST_P(PlacementTest, PutsTheGangThere) {
  Demand demand;
  demand.gpus = GetParam().gpus;
  EXPECT_EQ(PlacementScene(GetParam().nodes).place(GetParam().placement, demand), GetParam().want);
}
INSTANTIATE_TEST_SUITE_P(
    Placements, PlacementTest,
    testing::ValuesIn<PlaceCase>({
        {"FirstFitTakesTheLowestGpus", "first-fit", {{4, 1}, {4, 0}, {4, 4}}, 3, "0:1 2:2"},
        {"FirstFitNeedsCpusToo", "first-fit", {{4, 3, "r", "a", 1000}, {4, 4}}, 3, "0:1 1:2"},
        {"FirstFitNeedsAllOfThem", "first-fit", {{4, 1}, {4, 1}}, 3, "no"},
        {"FirstFitRunsOutOfCpus", "first-fit", {{4, 3, "r", "a", 0}, {4, 1}}, 2, "no"},

        {"ConsolidateFitsTightly", "consolidate", {{8, 8}, {8, 3}, {8, 2}}, 2, "2:2"},
        {"ConsolidateTakesTheNextLarger", "consolidate", {{8, 8}, {8, 4}, {8, 2}}, 3, "1:3"},
        {"ConsolidateBreaksTiesByNumber", "consolidate", {{8, 4}, {8, 4}}, 4, "0:4"},
        {"ConsolidateTakesTheFreestFirst", "consolidate", {{8, 3}, {8, 2}, {8, 8}}, 10, "1:2 2:8"},
        {"ConsolidatePutsTheRestTightly", "consolidate", {{8, 8}, {8, 5}, {8, 3}}, 11, "0:8 2:3"},
        {"ConsolidateSeesWhoHasNoCpus", "consolidate", {{8, 2, "r", "a", 1000}, {8, 8}}, 2, "1:2"},
        {"ConsolidatePrefersFewerFreeAmongTheEquallyRoomy",
         "consolidate",
         {{8, 6, "r", "a", 2000}, {8, 2}, {8, 1}},
         3,
         "1:2 2:1"},
        {"ConsolidateGivesUp", "consolidate", {{8, 3}, {8, 3}}, 7, "no"},

        {"YarnTakesTheFirstServerWithRoom", "yarn", {{8, 3}, {8, 8}, {8, 4}}, 4, "1:4"},
        {"YarnWaitsForOneServer", "yarn", {{8, 4}, {8, 4}}, 5, "no"},
        {"YarnTakesWholeServers", "yarn", {{4, 3}, {4, 4}, {4, 4}}, 8, "1:4 2:4"},
        {"YarnPutsTheRestOnOneMore", "yarn", {{4, 2}, {4, 4}, {4, 4}}, 10, "0:2 1:4 2:4"},
        {"YarnWantsIdleServers", "yarn", {{4, 3}, {4, 3}, {4, 4}}, 8, "no"},
        {"YarnStaysInARack", "yarn", {{4, 4, "x"}, {4, 4, "y"}, {4, 4, "y"}}, 8, "1:4 2:4"},
        {"YarnCrossesNoRacks", "yarn", {{4, 4, "x"}, {4, 4, "y"}}, 8, "no"},

        {"CountTakesAnything", "count", {{4, 1}, {4, 1}, {4, 1}}, 3, "0:1 1:1 2:1"},
        {"RandomTakesAllWhenAllAreNeeded", "random", {{4, 1}, {4, 0}, {4, 2}}, 3, "0:1 2:2"},
        {"RandomNeedsEnough", "random", {{4, 1}, {4, 1}}, 3, "no"},
    }),
    [](const auto& row) { return row.param.name; });

TEST(Placements, HaveNamesAndOneLineEach) {
  std::set<std::string_view> names;
  for (const Entry<Placer>& entry : placements()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name << " is listed twice";
    EXPECT_FALSE(entry.doc.empty() || entry.doc.ends_with('.')) << entry.name;
    const bool pools = entry.make()->pooling() == Pooling::kWholeCluster;
    EXPECT_EQ(pools, entry.name == "count");
  }
}

TEST(Placements, KeepToTheGpuTypeAskedFor) {
  const PlacementScene scene({{4, 4, "r", "a"}, {2, 2, "r", "b"}, {2, 2, "r", "b"}});
  Demand demand;
  demand.gpus = 2;
  demand.gpu_type = GpuTypeId(1);
  for (const Entry<Placer>& entry : placements()) {
    if (entry.name == "random") continue;  // Anywhere of type b; the property test sees to it.
    EXPECT_EQ(scene.place(entry.name, demand), "1:2") << entry.name;
  }
  demand.gpus = 5;
  for (const Entry<Placer>& entry : placements()) {
    EXPECT_EQ(scene.place(entry.name, demand), "no") << entry.name;
  }
}

TEST(Yarn, SpreadsAGangThatNoServerOfItsTypeCouldHold) {
  const PlacementScene scene({{8, 8, "r", "a"}, {2, 2, "r", "b"}, {2, 2, "r", "b"}});
  Demand demand;
  demand.gpus = 4;
  demand.gpu_type = GpuTypeId(1);
  EXPECT_EQ(scene.place("yarn", demand), "1:2 2:2");
}

TEST(RandomPlacement, RepeatsItselfForOneSaltAndVariesWithIt) {
  const PlacementScene scene(std::vector<SceneNode>(20, SceneNode{4, 4}));
  Demand demand;
  demand.gpus = 6;
  std::set<std::string> places;
  for (std::uint64_t salt = 0; salt < 20; ++salt) {
    demand.salt = salt;
    const std::string place = scene.place("random", demand);
    EXPECT_EQ(scene.place("random", demand), place);
    places.insert(place);
  }
  EXPECT_GT(places.size(), 15U);
}

// A small cluster, partly taken, and a demand, of every kind.
struct AnyCase {
  explicit AnyCase(std::uint64_t seed) : random(seed) {
    const std::size_t count = 1 + random.below(6);
    const bool alike = random.below(2) == 0;
    for (std::size_t i = 0; i < count; ++i) {
      SceneNode node{alike ? 4 : static_cast<std::int32_t>(1 + random.below(8)), 0};
      node.free =
          static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(node.gpus) + 1));
      if (random.below(3) == 0) node.free = node.gpus;
      node.rack = random.below(3) == 0 ? "r1" : "r0";
      node.type = random.below(4) == 0 ? "b" : "a";
      if (random.below(3) == 0 && node.free < node.gpus) {
        node.free_cpus = static_cast<std::int64_t>(random.below(5000)) % (1000 * node.gpus);
      }
      nodes.push_back(node);
    }
    demand.gpus = static_cast<std::int32_t>(1 + random.below(12));
    demand.salt = random.next();
    if (random.below(2) == 0) {
      demand.per_gpu = Resources{1, static_cast<std::int64_t>(random.below(2000)),
                                 static_cast<std::int64_t>(random.below(150)), 0};
    }
    pooling = random.below(3) == 0 ? Pooling::kWholeCluster : Pooling::kPerNode;
  }

  Random random;
  std::vector<SceneNode> nodes;
  Demand demand;
  Pooling pooling;
};

TEST(PlacementsProperty, FindOnlyWholeGangsThatTheBooksCanTake) {
  int found = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    AnyCase any(seed);
    const PlacementScene scene(any.nodes, any.pooling);
    if (any.random.below(3) == 0) {
      any.demand.gpu_type =
          GpuTypeId(static_cast<std::size_t>(any.random.below(scene.topology.gpu_type_count())));
    }
    for (const Entry<Placer>& entry : placements()) {
      SCOPED_TRACE(testing::Message() << "reproduce with seed " << seed << ", " << entry.name);
      Placement out;
      if (!entry.make()->place(scene.cluster, scene.ledger, any.demand, out)) {
        ASSERT_TRUE(out.empty()) << "no place, but something is left in the answer";
        continue;
      }
      ++found;
      ASSERT_TRUE(scene.ledger.can_take(out));  // It requires ascending nodes without duplicates.
      ASSERT_EQ(total_of(out).gpus, any.demand.gpus);
      for (const Share& share : out) {
        ASSERT_TRUE(any.demand.allows(scene.cluster, share.node));
        const Resources& each = any.demand.appetite(scene.cluster, share.node);
        ASSERT_EQ(share.cpu_milli, each.cpu_milli * share.gpus());
        ASSERT_EQ(share.mem_mib, each.mem_mib * share.gpus());
      }
    }
  }
  EXPECT_GT(found, 4000);
}

// How many GPUs each node could serve of the demand; none where the type is wrong.
std::vector<std::int32_t> servings(const PlacementScene& scene, const Demand& demand) {
  std::vector<std::int32_t> result;
  for (std::size_t i = 0; i < scene.topology.node_count(); ++i) {
    const bool allowed = demand.allows(scene.cluster, NodeId(i));
    result.push_back(
        allowed ? scene.ledger.gpus_with(NodeId(i), demand.appetite(scene.cluster, NodeId(i))) : 0);
  }
  return result;
}

// Tries every set of nodes.
std::optional<std::size_t> min_nodes(const std::vector<std::int32_t>& can, std::int32_t gpus) {
  std::optional<std::size_t> fewest;
  for (std::uint32_t set = 1; set < 1U << can.size(); ++set) {
    std::int32_t sum = 0;
    for (std::size_t i = 0; i < can.size(); ++i) sum += (set >> i & 1) != 0 ? can[i] : 0;
    const auto size = static_cast<std::size_t>(std::popcount(set));
    if (sum >= gpus && (!fewest || size < *fewest)) fewest = size;
  }
  return fewest;
}

TEST(ConsolidateProperty, UsesTheFewestServersPossible) {
  const auto placer = find_entry(placements(), "placement", "consolidate").value()->make();
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(testing::Message() << "reproduce with seed " << seed);
    const AnyCase any(seed);
    const PlacementScene scene(any.nodes);
    Placement out;
    const bool found = placer->place(scene.cluster, scene.ledger, any.demand, out);
    const auto fewest = min_nodes(servings(scene, any.demand), any.demand.gpus);
    ASSERT_EQ(found, fewest.has_value());
    ASSERT_EQ(out.size(), fewest.value_or(0));
  }
}

TEST(FirstFitProperty, FindsAPlaceWheneverThereIsOne) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(testing::Message() << "reproduce with seed " << seed);
    const AnyCase any(seed);
    const PlacementScene scene(any.nodes);
    std::int32_t sum = 0;
    for (const std::int32_t can : servings(scene, any.demand)) sum += can;
    for (const char* name : {"first-fit", "random"}) {
      EXPECT_EQ(scene.place(name, any.demand) != "no", sum >= any.demand.gpus) << name;
    }
  }
}

// The rule to the letter, on nodes of four GPUs: one node if the gang fits on one; otherwise
// idle nodes of one rack, filled, and at most one more there for what is left.
bool yarn_allows(const PlacementScene& scene, const Demand& demand, const Placement& placement) {
  if (demand.gpus <= 4) return placement.size() == 1;
  int partly = 0;
  for (const Share& share : placement) {
    const bool whole = share.gpus() == 4 && scene.ledger.free_gpus(share.node) == 4;
    partly += whole ? 0 : 1;
    if (scene.topology.node(share.node).rack != scene.topology.node(placement[0].node).rack) {
      return false;
    }
  }
  return partly <= (demand.gpus % 4 == 0 ? 0 : 1);
}
bool yarn_finds_room(const PlacementScene& scene, const Demand& demand) {
  const std::vector<std::int32_t> can = servings(scene, demand);
  if (demand.gpus <= 4) return *std::max_element(can.begin(), can.end()) >= demand.gpus;
  for (std::size_t rack = 0; rack < scene.topology.rack_count(); ++rack) {
    int whole = 0;
    int rest = 0;  // Servers that could take what is left, whole ones among them.
    for (std::size_t i = 0; i < can.size(); ++i) {
      if (scene.topology.node(NodeId(i)).rack != RackId(rack)) continue;
      whole += can[i] == 4 ? 1 : 0;
      rest += can[i] >= demand.gpus % 4 ? 1 : 0;
    }
    const bool needs_rest = demand.gpus % 4 != 0;
    if (whole >= demand.gpus / 4 && (!needs_rest || rest > demand.gpus / 4)) return true;
  }
  return false;
}

TEST(YarnProperty, KeepsItsRuleAndFindsWhatItAllows) {
  const auto placer = find_entry(placements(), "placement", "yarn").value()->make();
  int large = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    SCOPED_TRACE(testing::Message() << "reproduce with seed " << seed);
    AnyCase any(seed);
    for (SceneNode& node : any.nodes) {
      node.gpus = 4;
      node.free = std::min(node.free, 4);
      node.free_cpus = std::min<std::int64_t>(node.free_cpus, 4000);
    }
    const PlacementScene scene(any.nodes);
    Placement out;
    const bool found = placer->place(scene.cluster, scene.ledger, any.demand, out);
    ASSERT_EQ(found, yarn_finds_room(scene, any.demand));
    if (!found) continue;
    large += any.demand.gpus > 4 ? 1 : 0;
    ASSERT_TRUE(yarn_allows(scene, any.demand, out));
  }
  EXPECT_GT(large, 100);
}

}  // namespace
}  // namespace muster
