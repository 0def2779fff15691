// What it costs a gang to be spread.

#include "core/cluster.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace muster {
namespace {

// Two racks of two servers; profiles of a model with and one without a dominant tensor.
struct Scene {
  Scene() : topology(parse_cluster_shorthand("4x4,racks=2").value()) {
    for (const auto& [name, skew] : {std::pair("skewed", 0.7), std::pair("even", 0.1)}) {
      Profile profile = Profile::matrix(name, {{1000, 3000}, {64000}, {0.5, 1.0}});
      profile.state_skew(skew);
      ids.push_back(profiles.add(std::move(profile)).value());
    }
  }
  // At the proportional share, on one GPU of each of these servers.
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
    EXPECT_EQ(scene.speed(each, {2}, kFactors), 1) << "on one server";
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

// 114.8 images/s on one server, 98.0 on two (systems.md A6); racks as in J.
TEST(ClusterSpread, UsuallyIsAsThePhillyStudySays) {
  EXPECT_NEAR(kUsualSpread.one_rack, 98.0 / 114.8, 0.005);
  EXPECT_EQ(kUsualSpread.racks, 0.8);
  EXPECT_EQ(kUsualSpread.racks_skewed, 0.5);
}

}  // namespace
}  // namespace muster
