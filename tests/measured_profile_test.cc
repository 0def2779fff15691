#include "engine/fit/measured_profile.h"

#include <gtest/gtest.h>

#include "workload/input/profiles_file.h"

namespace muster {
namespace {

MeasuredProfile example(std::int32_t gpus = 1) {
  MeasuredProfile measured;
  measured.name = "ann/net";
  measured.gpus = gpus;
  measured.curve.add({500, 50, 0.01});
  measured.curve.add({900, 89, 0.01});
  measured.curve.add({1100, 99.5, 0.01});
  measured.curve.add({2000, 100, 0.01});
  measured.remarks = {"five words of comment: here"};
  return measured;
}

Profile read_back(const MeasuredProfile& measured) {
  Result<ProfileFile> file = parse_profiles(profile_yaml(measured).value(), "p.yaml");
  EXPECT_TRUE(file.ok()) << file.error().message << "\n" << profile_yaml(measured).value();
  EXPECT_TRUE(file.value().notes.empty()) << file.value().notes.front();
  return file.value().table[ProfileId(1)];
}

TEST(MeasuredProfile, TheSimulatorReadsWhatWasMeasured) {
  const MeasuredProfile measured = example();
  const Profile profile = read_back(measured);
  EXPECT_FALSE(profile.memory_known());
  EXPECT_NEAR(profile.speed(500, 1000, 0), 0.5, 1e-5);
  EXPECT_NEAR(profile.speed(250, 1000, 0), 0.5, 1e-5);  // Clamped: there is no measurement.
  EXPECT_EQ(profile.speed(2000, 1000, 0), 1);
  EXPECT_EQ(profile.ideal().cpu_milli, measured.curve.need());
  EXPECT_EQ(profile.speed(profile.ideal()), profile.speed(2000, 1, 0));
  EXPECT_NEAR(profile.iteration_seconds(), 0.01, 1e-6);
  const Profile direct = profile_of(measured).value();
  EXPECT_EQ(direct.ideal(), profile.ideal());
}

// Measured on a light job: due to noise, a point with few CPUs is faster than the others.
TEST(MeasuredProfile, NoiseDoesNotMakeTheNeedSlowerThanAShare) {
  MeasuredProfile measured;
  measured.name = "light";
  measured.curve.add({30, 25.0, 0.013});
  measured.curve.add({60, 49.02, 0.014});
  measured.curve.add({120, 48.28, 0.007});
  measured.curve.add({500, 48.91, 0.014});
  const Profile profile = read_back(measured);
  EXPECT_LT(profile.ideal().cpu_milli, 80);
  EXPECT_GE(profile.speed(profile.ideal()), profile.speed(500, 1, 0));
}

TEST(MeasuredProfile, AmountsAreOfOneGpu) {
  const Profile profile = read_back(example(2));
  EXPECT_NEAR(profile.speed(250, 1000, 0), 0.5, 1e-5);
  EXPECT_EQ(profile.speed(1000, 1000, 0), 1);
}

TEST(MeasuredProfile, ManyCpusAreRelativeToTheReference) {
  MeasuredProfile measured = example();
  measured.curve.add({12'000, 400, 0.01});
  const Profile profile = read_back(measured);
  EXPECT_EQ(profile.speed(3000, 1000, 0), 1);
  EXPECT_NEAR(profile.speed(12'000, 1000, 0), 400 / measured.curve.at(3000), 1e-4);
}

TEST(MeasuredProfile, WithDataMemoryIsModelled) {
  MeasuredProfile measured = example();
  DataFacts data;
  data.dataset_mib = 10'000;
  data.mib_per_step = 4;
  data.base_mem_mib = 500;
  data.mem_mib_per_s = 10'000;
  data.storage_mib_per_s = 100;
  measured.data = data;
  const Profile profile = read_back(measured);
  EXPECT_TRUE(profile.memory_known());
  EXPECT_NEAR(profile.speed(2000, 10'500, 0), 1, 1e-9);
  // Nothing cached: 4 MiB per step at 100 MiB per second give 25 steps per second.
  EXPECT_NEAR(profile.speed(2000, 500, 0), 0.25, 0.001);
  EXPECT_NEAR(profile.speed(500, 500, 0), 0.25, 0.001);
  EXPECT_NEAR(profile.speed(500, 10'500, 0), 0.5, 0.001);
  EXPECT_LT(profile.ideal().mem_mib, 10'500);  // Storage can deliver a part of the data in time.
}

TEST(MeasuredProfile, WhatCannotBeAProfileIsRefused) {
  const auto refused = [](std::initializer_list<CurvePoint> points, std::optional<DataFacts> data) {
    MeasuredProfile measured;
    measured.name = "x";
    measured.data = data;
    for (const CurvePoint& point : points) measured.curve.add(point);
    return !matrix_of(measured).ok();
  };
  EXPECT_FALSE(refused({{1000, 1e9, 0}}, {}));  // Only relative speeds matter.
  EXPECT_FALSE(refused({{1, 1, 0}}, {}));
  EXPECT_FALSE(refused({{3000, 1e-9, 0}, {9000, 1e-9, 0}}, {}));
  EXPECT_TRUE(refused({{3000, 1e-8, 0}, {9000, 1, 0}}, {}));
  EXPECT_FALSE(refused({{1000, 10, 0}}, DataFacts{1000, 1, 1, 100, 100}));  // Equal bandwidths.
  EXPECT_TRUE(refused({{1000, 10, 0}, {2000, 20, 0}}, DataFacts{1e6, 1, 0, 1e-6, 1e-6}));
}

TEST(MeasuredProfile, NamesAreThoseOfProfiles) {
  MeasuredProfile measured = example();
  measured.name = "res net: #50";
  EXPECT_EQ(read_back(measured).name(), "res_net:__50");
}

TEST(MeasuredProfile, WhereItRisesItGoesOnAsBefore) {
  MeasuredProfile measured;
  measured.name = "rising";
  measured.curve.add({500, 50, 0.01});
  measured.curve.add({1000, 60, 0.01});
  measured.reach = 2000;
  const Profile profile = profile_of(measured).value();
  EXPECT_NEAR(profile.speed(2000, 1, 0) / profile.speed(1000, 1, 0), 80.0 / 60, 0.001);
}

TEST(MeasuredProfile, TheGridWouldHaveCostManyTimesAsMuch) {
  MeasuredProfile measured = example();
  const GridCost cpus = grid_cost(measured, Duration::seconds(20));
  EXPECT_EQ(cpus.points, 24);
  EXPECT_EQ(cpus.time, Duration::seconds(120));
  measured.data = DataFacts{};
  EXPECT_EQ(grid_cost(measured, Duration::seconds(20)).points, 264);
}

}  // namespace
}  // namespace muster
