// The cost of spreading a gang over nodes, and requests that can never run.

#include "engine/core/cluster.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace muster {
namespace {

// Two racks of two nodes; profiles of one model with and one without a dominant tensor.
struct Scene {
  Scene() : topology(parse_cluster_shorthand("4x4,racks=2").value()) {
    for (const auto& [name, skew] : {std::pair("skewed", 0.7), std::pair("even", 0.1)}) {
      Profile profile = Profile::matrix(name, {{1000, 3000}, {64000}, {0.5, 1.0}});
      profile.state_skew(skew);
      ids.push_back(profiles.add(std::move(profile)).value());
    }
  }
  // At the proportional share, on one GPU of each of these nodes.
  double speed(ProfileId profile, const std::vector<int>& nodes, SpreadFactors spread,
               std::int64_t last_cpus = 3000) const {
    const Cluster cluster(topology, profiles, spread);
    JobSpec spec;
    spec.gpus = static_cast<std::int32_t>(nodes.size());
    spec.profile = profile;
    Placement placement;
    for (const int node : nodes) placement.push_back({NodeId(node), 1, 3000, 64000, 62500});
    placement.back().cpu_milli = last_cpus;
    return cluster.speed(spec, placement);
  }
  Topology topology;
  ProfileTable profiles;
  std::vector<ProfileId> ids;
};
constexpr SpreadFactors kFactors = {0.9, 0.6, 0.3};

TEST(ClusterSpread, CostsByHowFarAndWhatModel) {
  const Scene scene;
  const ProfileId skewed = scene.ids[0];
  const ProfileId even = scene.ids[1];
  EXPECT_EQ(scene.topology.node(NodeId(0)).rack, scene.topology.node(NodeId(1)).rack);
  EXPECT_NE(scene.topology.node(NodeId(1)).rack, scene.topology.node(NodeId(2)).rack);
  for (const ProfileId each : {skewed, even, ProfileTable::kUnknown}) {
    EXPECT_EQ(scene.speed(each, {2}, kFactors), 1) << "on one node";
    EXPECT_EQ(scene.speed(each, {0, 1}, kFactors), 0.9) << "in the first rack";
    EXPECT_EQ(scene.speed(each, {2, 3}, kFactors), 0.9) << "in the second rack";
  }
  for (const std::vector<int>& nodes : {std::vector<int>{1, 2}, {0, 1, 3}, {0, 2, 3}}) {
    EXPECT_EQ(scene.speed(skewed, nodes, kFactors), 0.3);
    EXPECT_EQ(scene.speed(even, nodes, kFactors), 0.6);
    EXPECT_EQ(scene.speed(ProfileTable::kUnknown, nodes, kFactors), 0.6);
  }
}

TEST(ClusterSpread, CostsNothingUnlessSaid) {
  const Scene scene;
  for (const std::vector<int>& nodes : {std::vector<int>{0}, {0, 1}, {0, 2}}) {
    EXPECT_EQ(scene.speed(scene.ids[0], nodes, {}), 1);
  }
}

TEST(ClusterSpread, ComesOnTopOfTheSlowestWorker) {
  const Scene scene;
  EXPECT_EQ(scene.speed(scene.ids[1], {0, 1}, {}, 1000), 0.5);
  EXPECT_EQ(scene.speed(scene.ids[1], {0, 1}, kFactors, 1000), 0.5 * 0.9);
  EXPECT_EQ(scene.speed(scene.ids[0], {1, 2}, kFactors, 1000), 0.5 * 0.3);
}

// 114.8 images/s on one node, 98.0 on two (systems.md A6); racks as in J.
TEST(ClusterSpread, UsuallyIsAsThePhillyStudySays) {
  EXPECT_NEAR(kUsualSpread.one_rack, 98.0 / 114.8, 0.005);
  EXPECT_EQ(kUsualSpread.racks, 0.8);
  EXPECT_EQ(kUsualSpread.racks_skewed, 0.5);
}

// A model with stated parameters has its own costs. With fixed factors only, or on one node, the
// parameters do not matter.
TEST(ClusterSpread, ComesFromTheParametersOfAModel) {
  Scene scene;
  const auto add = [&](const char* name, double mib, double skew, double seconds) {
    Profile profile = Profile::unknown(name);
    profile.state_skew(skew);
    profile.state_exchange({mib * 1024 * 1024, seconds});
    return scene.profiles.add(std::move(profile)).value();
  };
  const ProfileId resnet50 = add("resnet50", 97.7, 0.092, 2 * 32 / 114.8);
  const ProfileId vgg16 = add("vgg16", 527.8, 0.743, 0.495);
  for (const ProfileId each : {resnet50, vgg16}) {
    EXPECT_EQ(scene.speed(each, {1}, kUsualSpread), 1);
    EXPECT_EQ(scene.speed(each, {0, 1}, kFactors), kFactors.one_rack);
    EXPECT_EQ(scene.speed(each, {0, 1}, {}), 1);
  }
  EXPECT_NEAR(scene.speed(resnet50, {0, 1}, kUsualSpread), 98.0 / 114.8, 0.05);
  EXPECT_LT(scene.speed(vgg16, {0, 1}, kUsualSpread), 0.5);
  EXPECT_LT(scene.speed(vgg16, {0, 1, 2, 3}, kUsualSpread),
            scene.speed(vgg16, {0, 1}, kUsualSpread));
  EXPECT_EQ(scene.speed(scene.ids[0], {0, 1}, kUsualSpread), 0.85) << "no parameters stated";
}

TEST(Cluster, NamesTheLimitThatAJobIsBeyond) {
  Topology topology;
  ASSERT_FALSE(topology.add_node("large", "r", "gpu", {8, 64'000, 512'000, 0}));
  ASSERT_FALSE(topology.add_node("small", "r", "gpu", {4, 8'000, 102'400, 0}));
  const ProfileTable profiles;
  const Cluster cluster(topology, profiles);
  const auto why = [&](std::int32_t gpus, double cpus, std::int64_t gib, std::int32_t spread) {
    JobSpec spec;
    spec.gpus = gpus;
    spec.least = {0, static_cast<std::int64_t>(cpus * 1000), gib * 1024, 0};  // Per GPU.
    spec.spread = spread;
    return cluster.why_never(spec).value_or("");
  };
  EXPECT_EQ(why(1, 0, 500, 0), "");
  EXPECT_EQ(why(1, 64, 500, 1), "");
  EXPECT_EQ(why(12, 2, 25, 0), "");
  EXPECT_EQ(why(1, 0, 900, 0), "needs 900 GiB of memory, the largest node has 500 GiB");
  EXPECT_EQ(why(1, 65, 0, 0), "needs 65 CPUs, the largest node has 64 CPUs");
  EXPECT_EQ(why(2, 0, 900, 0), "needs 900 GiB of memory per GPU, the largest node has 500 GiB");
  EXPECT_EQ(why(4, 0, 250, 0),
            "needs 250 GiB of memory per GPU for 4 GPUs, the cluster has that for 2");
  EXPECT_EQ(why(4, 0, 150, 1), "needs 600 GiB of memory on one node, the largest node has 500 GiB");
  EXPECT_EQ(why(10, 0, 0, 1), "needs 10 GPUs on at most 1 node, the largest has 8");
  EXPECT_EQ(why(12, 0, 0, 2), "");
  EXPECT_EQ(why(8, 1.5, 60, 2), "") << "eight on the large node";
  EXPECT_EQ(why(10, 2.5, 25, 0), "") << "eight and three";
  EXPECT_EQ(why(12, 2, 26, 0),
            "needs 26 GiB of memory per GPU for 12 GPUs, the cluster has that for 11");
}

}  // namespace
}  // namespace muster
