// Gandiva's packing: which pairs are tried, and the outcome.

#include "engine/planner/gandiva_packs.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "engine/planner/gandiva_testing.h"

namespace muster {
namespace {

constexpr int kLight = 1;  // Profiles, by how busy they keep a GPU.
constexpr int kMedium = 2;
constexpr int kHeavy = 3;

ProfileTable three_profiles() {
  ProfileTable table;
  for (const auto& [name, use] : {std::pair{"light", 0.2}, {"medium", 0.5}, {"heavy", 0.9}}) {
    SpeedMatrix matrix;
    matrix.cpu_milli = {3000};
    matrix.mem_mib = {64000};
    matrix.speed = {1};
    Profile profile = Profile::matrix(name, matrix);
    profile.state_gpu_use(use);
    EXPECT_TRUE(table.add(std::move(profile)).ok());
  }
  return table;
}

JobSubmitted sort(int profile, std::int32_t gpus = 1) {
  JobSubmitted wish = job(gpus);
  wish.spec.profile = ProfileId(profile);
  return wish;
}

// The speeds are the simulator's business: the scheduler must not read them.
PairTable fitting(const std::vector<std::pair<int, int>>& pairs, std::int32_t gpus = 1) {
  PairTable table;
  for (const auto& [a, b] : pairs) table.add(ProfileId(a), ProfileId(b), gpus, {0.01, 0.01});
  return table;
}

struct Packing : testing::Test {
  PairTable pairs = fitting({{kLight, kLight}, {kLight, kMedium}, {kLight, kHeavy}});

  GandivaOptions options(std::int32_t most_jobs = 4) const {
    GandivaOptions made;
    made.pairs = &pairs;
    made.most_jobs = most_jobs;
    return made;
  }
};
using GandivaPacking = Packing;

TEST_F(GandivaPacking, TwoThatTakeTurnsAreTriedAtOnceAndLeftSoIfItPays) {
  GandivaWorld world("1x1", options(), three_profiles());
  EXPECT_EQ(world.at(0, {sort(kLight), sort(kMedium)}),
            "@0 start 0 on 0:1, @0 start 1 on 0:1, @0 0+1 turns");
  world.says = {{0, 0.7}, {1, 0.4}};
  EXPECT_EQ(world.at(100), "@60 0+1 packed") << "when both have had a slice";
  EXPECT_EQ(world.at(5000), "");
}

TEST_F(GandivaPacking, WhatDoesNotPayIsUndoneAndNotTriedAgain) {
  GandivaWorld world("2x1", options(), three_profiles());
  world.at(0, {sort(kLight), sort(kHeavy), sort(kMedium), sort(kHeavy)});
  EXPECT_EQ(world.state().sharing_groups.size(), 2U) << "0+2 and 1+3, but only 0+2 fits";
  world.says = {{0, 0.5}, {2, 0.5}};
  EXPECT_EQ(world.at(60), "@60 0+2 packed");
  EXPECT_EQ(world.at(120), "@120 0+2 turns") << "no more than in turns";
  EXPECT_EQ(world.at(5000), "");
  // Nor with others of these sorts.
  EXPECT_EQ(world.at(5001, {world.end(0), world.end(1), world.end(2), world.end(3)}), "");
  world.at(5002, {sort(kMedium), sort(kMedium), sort(kLight), sort(kLight)});
  EXPECT_EQ(world.state().sharing_groups.size(), 2U);
  EXPECT_EQ(world.at(9000), "");
}

TEST_F(GandivaPacking, ThoseThatKeepTheGpuLeastBusyComeFirst) {
  GandivaWorld world("2x1", options(), three_profiles());
  EXPECT_EQ(world.at(0, {sort(kLight), sort(kLight), sort(kHeavy), sort(kLight)}),
            "@0 start 0 on 0:1, @0 start 1 on 1:1, @0 start 2 on 0:1, @0 start 3 on 1:1, "
            "@0 0+2 turns, @0 1+3 turns");
  EXPECT_EQ(world.at(60), "@60 0+2 packed") << "the oldest of them, with its companion";
  EXPECT_EQ(world.at(120), "@120 1+3 packed");
}

TEST_F(GandivaPacking, WhatIsKnownToPayComesFirst) {
  GandivaWorld world("3x1", options(), three_profiles());
  world.at(0, {sort(kMedium), sort(kHeavy), sort(kHeavy), sort(kLight)});
  EXPECT_EQ(world.at(60), "@60 0+3 packed");
  EXPECT_EQ(world.at(120), "") << "it pays";
  world.at(130, {sort(kHeavy), sort(kLight), sort(kMedium)});  // 1+4, 2+5, 1+4+6.
  EXPECT_EQ(world.at(131, {world.end(4)}), "@131 1+6 turns");
  EXPECT_EQ(world.at(140, {world.end(3)}), "@140 0 alone");
  EXPECT_EQ(world.at(190), "@190 stop 5, @190 0+5 packed, @190 2 alone, @190 start 5 on 0:1")
      << "rather than with its untested companion";
}

TEST_F(GandivaPacking, OneMayBeMovedToAJobThatIsAlone) {
  GandivaWorld world("2x1", options(), three_profiles());
  EXPECT_EQ(world.at(0, {sort(kHeavy), sort(kMedium), sort(kHeavy), sort(kHeavy)}),
            "@0 start 0 on 0:1, @0 start 1 on 1:1, @0 start 2 on 0:1, @0 start 3 on 1:1, "
            "@0 0+2 turns, @0 1+3 turns");
  EXPECT_EQ(world.at(1, {cancel(3), sort(kLight), sort(kLight)}),
            "@1 stop 3, @1 start 5 on 0:1, @1 0+2+5 turns, @1 1+4 turns, @1 start 4 on 1:1");
  EXPECT_EQ(world.at(2, {cancel(4)}), "@2 stop 4, @2 1 alone");
  world.says = {{1, 0.3}, {5, 0.6}};
  EXPECT_EQ(world.at(120), "@120 stop 5, @120 0+2 turns, @120 1+5 packed, @120 start 5 on 1:1");
  EXPECT_EQ(world.at(5000), "@180 1+5 turns") << "they stay together, in turns";
}

TEST_F(GandivaPacking, OnlyWhatFits) {
  pairs = fitting({{kLight, kLight}}, 2);
  pairs.add(ProfileId(kLight), ProfileId(kMedium), 1, {0.5, 0});
  GandivaWorld world("1x1", options(), three_profiles());
  world.at(0, {sort(kLight), sort(kLight)});
  EXPECT_EQ(world.at(5000), "") << "measured on other GPUs only";
  world.at(5001, {world.end(0), sort(kMedium)});
  EXPECT_EQ(world.at(9000), "") << "the one stops the other";
}

TEST_F(GandivaPacking, NeverWithoutATable) {
  GandivaWorld world("1x1", GandivaOptions{}, three_profiles());
  world.at(0, {sort(kLight), sort(kLight)});
  EXPECT_EQ(world.at(9000), "");
  EXPECT_EQ(world.engine().counters().plans, 1U) << "and it is not even asked";
}

TEST_F(GandivaPacking, NotWhileEverybodyHasItsGpus) {
  GandivaWorld world("2x1", options(), three_profiles());
  world.at(0, {sort(kLight), sort(kLight)});
  EXPECT_EQ(world.at(9000), "");
}

TEST_F(GandivaPacking, OnlyTwo) {
  GandivaWorld world("1x1", options(), three_profiles());
  world.at(0, {sort(kLight), sort(kLight), sort(kLight)});
  EXPECT_EQ(world.at(1000), "") << "there is no lone job and no single companion";
  EXPECT_EQ(world.at(1001, {world.end(1)}), "@1001 0+2 packed");
  EXPECT_EQ(world.at(1002, {sort(kLight)}), "") << "no job joins a pair on trial";
  EXPECT_EQ(world.at(1010, {world.end(2)}), "@1010 start 3 on 0:1, @1010 0+3 turns");
}

TEST_F(GandivaPacking, APairMakesRoomForOneWhoWouldWait) {
  GandivaWorld world("1x1", options(), three_profiles());
  world.at(0, {sort(kLight), sort(kLight)});
  EXPECT_EQ(world.at(60), "@60 0+1 packed");
  EXPECT_EQ(world.at(70, {sort(kHeavy)}), "") << "not while it is tried";
  EXPECT_EQ(world.at(120), "@120 start 2 on 0:1, @120 0+1+2 turns")
      << "it paid, but three are more";
  EXPECT_EQ(world.at(200, {world.end(2)}), "@200 0+1 packed") << "what is known to pay";
  GandivaWorld pairs_only("1x1", options(2), three_profiles());
  pairs_only.at(0, {sort(kLight), sort(kLight)});
  EXPECT_EQ(pairs_only.at(60), "@60 0+1 packed");
  EXPECT_EQ(pairs_only.at(130, {sort(kHeavy)}), "") << "three would be too many";
}

TEST_F(GandivaPacking, ATrialEndsWithOneOfTheTwo) {
  GandivaWorld world("1x1", options(), three_profiles());
  world.at(0, {sort(kLight), sort(kLight)});
  EXPECT_EQ(world.at(60), "@60 0+1 packed");
  EXPECT_EQ(world.at(70, {cancel(0)}), "@70 stop 0, @70 1 alone");
  EXPECT_EQ(world.at(9000), "");
}

TEST_F(GandivaPacking, ATrialWaitsForReportsALittle) {
  GandivaWorld world("1x1", options(), three_profiles());
  world.at(0, {sort(kLight), sort(kLight)});
  world.silent = {1};
  EXPECT_EQ(world.at(60), "@60 0+1 packed");
  EXPECT_EQ(world.at(200), "");
  world.silent.clear();
  world.says = {{0, 0.6}, {1, 0.6}};
  EXPECT_EQ(world.at(5000), "") << "told in the last moment";
  GandivaWorld mute("1x1", options(), three_profiles());
  mute.at(0, {sort(kLight), sort(kLight)});
  mute.silent = {0, 1};
  EXPECT_EQ(mute.at(60), "@60 0+1 packed");
  EXPECT_EQ(mute.at(9000), "@300 0+1 turns");
}

// Reports from before a change of members are ignored.
TEST_F(GandivaPacking, OnlyWhatIsSaidDuringTheTrialCounts) {
  GandivaWorld world("1x1", options(), three_profiles());
  world.at(0, {sort(kLight), sort(kLight)});
  EXPECT_EQ(world.at(60), "@60 0+1 packed") << "both said 1 just before";
  world.says = {{0, 0.1}, {1, 0.1}};
  EXPECT_EQ(world.at(120), "@120 0+1 turns");
}

TEST_F(GandivaPacking, GpuTypesAreKeptTo) {
  Topology topology;
  ASSERT_FALSE(topology.add_node("k", "r", "k80", {1, 3000, 100, 0}));
  ASSERT_FALSE(topology.add_node("v", "r", "v100", {1, 3000, 100, 0}));
  GandivaWorld world(std::move(topology), options(), three_profiles());
  JobSubmitted old = sort(kLight);
  old.spec.gpu_type = GpuTypeId(0);
  JobSubmitted other = sort(kHeavy);
  other.spec.gpu_type = GpuTypeId(1);
  world.at(0, {other, old, old, old});  // 0; 1+2+3.
  EXPECT_EQ(world.at(5000), "") << "job 0 is alone, but on another type";
}

TEST_F(GandivaPacking, PackedJobsGetGpusOfTheirOwnWhenThereAreSome) {
  GandivaWorld world("2x1", options(), three_profiles());
  EXPECT_EQ(world.at(0, {sort(kHeavy), sort(kLight), sort(kHeavy), sort(kLight)}),
            "@0 start 0 on 0:1, @0 start 1 on 1:1, @0 start 2 on 0:1, @0 start 3 on 1:1, "
            "@0 0+2 turns, @0 1+3 turns");
  EXPECT_EQ(world.at(60), "@60 1+3 packed");
  EXPECT_EQ(world.at(200), "");
  EXPECT_EQ(world.at(201, {world.end(0), world.end(2)}),
            "@201 stop 3, @201 1 alone, @201 start 3 on 0:1");
}

TEST_F(GandivaPacking, GangsAreTriedAsAWhole) {
  pairs = fitting({{kLight, kLight}}, 4);
  GandivaWorld world("2x2", options(), three_profiles());
  EXPECT_EQ(world.at(0, {sort(kLight, 4), sort(kLight, 4)}),
            "@0 start 0 on 0:2 1:2, @0 start 1 on 0:2 1:2, @0 0+1 turns");
  world.says = {{0, 0.9}, {1, 0.9}};
  EXPECT_EQ(world.at(600), "@60 0+1 packed");
}

}  // namespace
}  // namespace muster
