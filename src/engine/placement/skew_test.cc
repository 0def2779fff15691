#include "engine/placement/skew.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/types/check.h"
#include "base/types/random.h"
#include "engine/core/scene_testing.h"
#include "engine/placement/consolidate.h"

namespace muster {
namespace {

// With a model whose parameters are skewed and one whose are not.
struct SkewScene : Scene {
  explicit SkewScene(const std::vector<SceneNode>& nodes)
      : Scene(nodes, Pooling::kPerNode, two_models()) {}

  static ProfileTable two_models() {
    ProfileTable table;
    add(table, "skewed", 0.7);
    add(table, "even", 0.1);
    return table;
  }
  static void add(ProfileTable& table, const char* name, double skew) {
    Profile profile = Profile::matrix(name, {{1000}, {100}, {1.0}});
    profile.state_skew(skew);
    MUSTER_CHECK(table.add(std::move(profile)).ok());
  }
  std::string place(ProfileId profile, std::int32_t gpus,
                    std::optional<GpuTypeId> type = {}) const {
    Demand demand;
    demand.gpus = gpus;
    demand.gpu_type = type;
    demand.profile = profile;
    return found(demand, [&](const Cluster& nodes, const ResourceLedger& taken, Placement& out) {
      return Skew().place(nodes, taken, demand, out);
    });
  }

  const ProfileId skewed = profiles.find("skewed");
  const ProfileId even = profiles.find("even");
};

TEST(Skew, OnlyAModelOfKnownLowSkewIsSpread) {
  const SkewScene scene({{4, 3}, {4, 2}});
  EXPECT_EQ(scene.place(scene.skewed, 3), "0:3");
  EXPECT_EQ(scene.place(scene.skewed, 4), "no");
  EXPECT_EQ(scene.place(scene.even, 4), "0:3 1:1");
  EXPECT_EQ(scene.place(ProfileTable::kUnknown, 4), "no") << "its skew is not known";
  EXPECT_EQ(scene.place(scene.even, 6), "no") << "there are five";
}

TEST(Skew, AGangTooLargeForOneServerWaitsForTheFewest) {
  const SkewScene free({{4, 4}, {4, 4}, {4, 4}});
  EXPECT_EQ(free.place(free.skewed, 6), "0:4 1:2");
  EXPECT_EQ(free.place(free.skewed, 12), "0:4 1:4 2:4");
  const SkewScene broken({{4, 2}, {4, 2}, {4, 4}});
  EXPECT_EQ(broken.place(broken.skewed, 6), "0:2 2:4");
  EXPECT_EQ(broken.place(broken.skewed, 8), "no");
  EXPECT_EQ(broken.place(broken.even, 8), "0:2 1:2 2:4");
}

TEST(Skew, TheFewestAreCountedOnTheLargestServers) {
  const SkewScene scene({{8, 4}, {4, 4}, {4, 4}});
  EXPECT_EQ(scene.place(scene.skewed, 8), "no") << "the large node could hold it";
  EXPECT_EQ(scene.place(scene.even, 8), "0:4 1:4");
  EXPECT_EQ(scene.place(scene.skewed, 12), "no") << "eight and four";
  const SkewScene empty({{8, 8}, {4, 4}, {4, 4}});
  EXPECT_EQ(empty.place(empty.skewed, 12), "0:8 1:4");
}

TEST(Skew, TheFewestAreCountedOnServersOfItsTypeOnly) {
  const SkewScene scene({{8, 1}, {2, 2, "r0", "b"}, {2, 2, "r0", "b"}});
  EXPECT_EQ(scene.place(scene.skewed, 4, GpuTypeId(1)), "1:2 2:2");
  EXPECT_EQ(scene.place(scene.skewed, 4), "no");
}

TEST(Skew, TellsThatJobsOfOneSizeMayFitDifferently) {
  EXPECT_TRUE(Skew().depends_on_profile());
  EXPECT_FALSE(Consolidate().depends_on_profile());
}

// As Consolidate, unless the model is skewed and could be on fewer nodes of this cluster.
TEST(SkewProperty, IsConsolidateForEvenModelsAndTheFewestForOthers) {
  int waits = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(testing::Message() << "reproduce with seed " << seed);
    Random random(seed);
    std::vector<SceneNode> nodes(1 + random.below(6));
    for (SceneNode& node : nodes) {
      node = {static_cast<std::int32_t>(1 + random.below(8)), 0};
      node.free =
          static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(node.gpus) + 1));
    }
    const SkewScene scene(nodes);
    std::vector<SceneNode> nobody = nodes;
    for (SceneNode& node : nobody) node.free = node.gpus;
    const SkewScene empty(nobody);
    Demand demand;
    demand.gpus = static_cast<std::int32_t>(1 + random.below(16));
    Placement now;
    Placement at_best;
    Consolidate().place(scene.cluster, scene.ledger, demand, now);
    Consolidate().place(empty.cluster, empty.ledger, demand, at_best);
    for (const ProfileId profile : {scene.even, scene.skewed}) {
      demand.profile = profile;
      Placement out;
      const bool found = Skew().place(scene.cluster, scene.ledger, demand, out);
      const bool wait = profile == scene.skewed && now.size() > at_best.size();
      waits += wait ? 1 : 0;
      ASSERT_EQ(found, !now.empty() && !wait);
      ASSERT_EQ(out, found ? now : Placement());
    }
  }
  EXPECT_GT(waits, 100);
}

// The table of systems.md C5.
struct Model {
  const char* name;
  double total_mb;
  double largest_mb;
  double share;
  bool sensitive;
};
constexpr Model kModels[] = {
    {"vgg19", 547.1, 392.0, 0.717, true},    {"vgg16", 526.8, 392.0, 0.744, true},
    {"vgg11", 506.5, 392.0, 0.774, true},    {"alexnet", 235.8, 144.0, 0.611, true},
    {"resnet152", 149.6, 9.0, 0.060, false}, {"resnet101", 119.7, 9.0, 0.075, false},
    {"resnet50", 80.6, 9.0, 0.112, false},   {"inception4", 132.8, 5.9, 0.044, false},
    {"inception3", 56.6, 7.8, 0.138, false},
};

TEST(Skew, SeparatesTheNineModelsOfTiresias) {
  for (const Model& model : kModels) {
    EXPECT_NEAR(model.largest_mb / model.total_mb, model.share, 0.001) << model.name;
    Profile profile = Profile::matrix(model.name, {{1000}, {100}, {1.0}});
    EXPECT_FALSE(profile.is_skewed()) << "unless it is stated";
    profile.state_skew(model.share);
    EXPECT_EQ(profile.is_skewed(), model.sensitive) << model.name;
  }
}

TEST(Skew, AnyLimitBetweenInceptionAndAlexnetSeparatesThemAlike) {
  double least_sensitive = 1;
  double most_insensitive = 0;
  for (const Model& model : kModels) {
    double& bound = model.sensitive ? least_sensitive : most_insensitive;
    bound = model.sensitive ? std::min(bound, model.share) : std::max(bound, model.share);
  }
  EXPECT_EQ(most_insensitive, 0.138);
  EXPECT_EQ(least_sensitive, 0.611);
  EXPECT_GT(kSkewLimit, most_insensitive);
  EXPECT_LT(kSkewLimit, least_sensitive);
  for (int thousandth = 139; thousandth < 611; ++thousandth) {
    for (const Model& model : kModels) {
      ASSERT_EQ(model.share > thousandth / 1000.0, model.sensitive)
          << model.name << " at a limit of " << thousandth / 1000.0;
    }
  }
  // And is_skewed() asks for no more than the limit says.
  Profile profile = Profile::unknown();
  profile.state_skew(kSkewLimit);
  EXPECT_FALSE(profile.is_skewed());
  profile.state_skew(kSkewLimit + 1e-9);
  EXPECT_TRUE(profile.is_skewed());
}

}  // namespace
}  // namespace muster
