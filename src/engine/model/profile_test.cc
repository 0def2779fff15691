#include "engine/model/profile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/types/random.h"

namespace muster {
namespace {

SpeedMatrix small_matrix() {
  return {{1000, 3000, 6000}, {20000, 64000}, {0.1, 0.5, 0.2, 1.0, 0.3, 2.94}};
}

TEST(MatrixProfile, GivesThePointsExactly) {
  const SpeedMatrix matrix = small_matrix();
  const Profile profile = Profile::matrix("m", matrix);
  for (std::size_t r = 0; r < 3; ++r) {
    for (std::size_t c = 0; c < 2; ++c) {
      EXPECT_EQ(profile.speed(matrix.cpu_milli[r], matrix.mem_mib[c], 0), matrix.speed[r * 2 + c]);
    }
  }
  EXPECT_EQ(profile.speed(kReferenceShare), 1.0);
}

TEST(MatrixProfile, IsBilinearBetweenPoints) {
  const Profile profile = Profile::matrix("m", small_matrix());
  EXPECT_DOUBLE_EQ(profile.speed(2000, 64000, 0), 0.75);          // Half way by CPU,
  EXPECT_DOUBLE_EQ(profile.speed(1000, 42000, 0), 0.3);           // by memory,
  EXPECT_DOUBLE_EQ(profile.speed(2000, 42000, 0), 0.45);          // by both,
  EXPECT_DOUBLE_EQ(profile.speed(4000, 64000, 0), 1 + 1.94 / 3);  // and a third.
}

TEST(MatrixProfile, ClampsOutsideThem) {
  const Profile profile = Profile::matrix("m", small_matrix());
  EXPECT_EQ(profile.speed(0, 0, 0), 0.1);
  EXPECT_EQ(profile.speed(-5, 1'000'000'000, 0), 0.5);
  EXPECT_EQ(profile.speed(1'000'000'000, 0, 0), 0.3);
  EXPECT_EQ(profile.speed(1'000'000'000, 1'000'000'000, 0), 2.94);
  EXPECT_DOUBLE_EQ(profile.speed(2000, 1'000'000'000, 0), 0.75);
}

TEST(MatrixProfile, WorksWithASinglePoint) {
  const Profile profile = Profile::matrix("m", {{3000}, {64000}, {1.0}});
  EXPECT_EQ(profile.speed(1, 1, 0), 1.0);
  EXPECT_EQ(profile.speed(9000, 640000, 0), 1.0);
  EXPECT_EQ(profile.ideal(), kReferenceShare);
}

TEST(MatrixProfile, NeverSlowsDownWithMore) {
  Random random(99);
  const Profile profile = Profile::matrix("m", small_matrix());
  for (int i = 0; i < 20'000; ++i) {
    const auto cpu = static_cast<std::int64_t>(random.below(8000));
    const auto mem = static_cast<std::int64_t>(random.below(80'000));
    const auto more_cpu = cpu + static_cast<std::int64_t>(random.below(2000));
    const auto more_mem = mem + static_cast<std::int64_t>(random.below(20'000));
    const double speed = profile.speed(cpu, mem, 0);
    ASSERT_GE(profile.speed(more_cpu, mem, 0), speed - 1e-12) << cpu << ' ' << mem;
    ASSERT_GE(profile.speed(cpu, more_mem, 0), speed - 1e-12) << cpu << ' ' << mem;
  }
}

TEST(MatrixProfile, FindsTheCheapestPointNearTheBest) {
  const SpeedMatrix matrix = {
      {1000, 3000, 6000, 9000}, {20000, 64000}, {0.1, 0.5, 0.2, 1.0, 0.3, 1.995, 0.3, 2.0}};
  const Profile profile = Profile::matrix("m", matrix);
  EXPECT_EQ(profile.ideal(), (Resources{1, 6000, 64000, 62500}));  // Within a hundredth of 2.0.
  Profile stated = profile;
  stated.state_ideal(9000, 64000, 2.0);
  EXPECT_EQ(stated.ideal().cpu_milli, 9000);
  EXPECT_EQ(stated.stated_speedup(), 2.0);
}

TEST(FormulaProfile, IsLimitedByCpuStorageAndGpuInTurn) {
  // 0.1 s on the GPU, 1.2 core-seconds, 50 MiB per step of a 100 GB data set, 4 GB base memory.
  const SpeedFormula formula = {0.1, 1.2, 50, 102'400, 4096};
  const Profile profile = Profile::formula("f", formula);
  const double reference = profile.iteration_seconds();
  const auto step = [&](std::int64_t cpu, std::int64_t mem, std::int64_t storage) {
    return reference / profile.speed(cpu, mem, storage);
  };
  EXPECT_NEAR(reference, 0.4, 1e-12);  // 1.2 / 3 cores; fetching takes 50 * 0.415 / 62.5 = 0.332.
  EXPECT_EQ(profile.speed(kReferenceShare), 1.0);
  EXPECT_NEAR(step(1000, 64000, 62500), 1.2, 1e-12);             // CPU,
  EXPECT_NEAR(step(12000, 4096, 62500), 0.8, 1e-12);             // storage, nothing cached,
  EXPECT_NEAR(step(12000, 4096 + 51'200, 62500), 0.4, 1e-12);    // half of it cached,
  EXPECT_NEAR(step(12000, 4096 + 51'200, 125'000), 0.2, 1e-12);  // and twice the bandwidth,
  EXPECT_NEAR(step(12000, 4096 + 102'400, 0), 0.1, 1e-12);       // GPU, everything cached.
  EXPECT_NEAR(step(24000, 1'000'000, 1'000'000), 0.1, 1e-12);
  EXPECT_LT(profile.speed(12000, 4095, 62500), 1e-5);  // Too little memory to run at all.
  EXPECT_LT(profile.speed(0, 64000, 62500), 1e-5);
  EXPECT_LT(profile.speed(12000, 64000, 0), 1e-5);
}

TEST(FormulaProfile, IdealFeedsTheGpuAndNoMore) {
  const Profile profile = Profile::formula("f", {0.1, 0.6, 5, 102'400, 4096});
  // 6 CPUs keep up with the GPU, and 5 MiB per step come from storage in 0.08 s.
  EXPECT_EQ(profile.ideal(), (Resources{1, 6000, 4096, 62500}));
}

TEST(FormulaProfile, NeedsNoDataSet) {
  const Profile profile = Profile::formula("f", {0.25, 0, 0, 0, 0});
  EXPECT_EQ(profile.iteration_seconds(), 0.25);
  EXPECT_EQ(profile.speed(1, 1, 0), 1.0);
}

TEST(UnknownProfile, IsProportionalUpToTheFairShare) {
  const Profile profile = Profile::unknown();
  EXPECT_FALSE(profile.sensitivity_known());
  EXPECT_EQ(profile.speed(kReferenceShare), 1.0);
  EXPECT_EQ(profile.speed(30000, 640000, 0), 1.0);
  EXPECT_EQ(profile.speed(1500, 64000, 0), 0.5);
  EXPECT_EQ(profile.speed(3000, 16000, 0), 0.25);
  EXPECT_EQ(profile.speed(0, 64000, 0), 0.0);
  EXPECT_EQ(profile.ideal(), kReferenceShare);
}

TEST(Profile, KnowsOtherGpuTypes) {
  Profile profile = Profile::unknown();
  profile.state_gpu_factor("a100", 2.5);
  EXPECT_EQ(profile.gpu_factor("a100"), 2.5);
  EXPECT_EQ(profile.gpu_factor("v100"), 1.0);
}

TEST(Profile, GrowsWithGpusAsStated) {
  Profile profile = Profile::matrix("m", small_matrix());
  profile.state_scaling({2, 0.5, 0.25});
  EXPECT_EQ(profile.steps_per_second(1), 1);
  EXPECT_DOUBLE_EQ(profile.steps_per_second(2), 2.75 / 2);
  EXPECT_DOUBLE_EQ(profile.steps_per_second(4), 2.75 / 2);  // Past its best, which is near 3.
  EXPECT_DOUBLE_EQ(profile.steps_per_second(8), 2.75 / 2.75);
  profile.state_scaling({1, 0, 0});
  EXPECT_EQ(profile.steps_per_second(64), 64);
}

TEST(Profile, GrowsTypicallyUnlessStated) {
  for (const Profile& profile : {Profile::unknown(), Profile::matrix("m", small_matrix()),
                                 Profile::formula("f", {0.25, 0, 0, 0, 0})}) {
    EXPECT_EQ(profile.steps_per_second(1), 1);
    EXPECT_NEAR(profile.steps_per_second(4), 3.0, 0.1);
    EXPECT_NEAR(profile.steps_per_second(16), 4.9, 0.2);
  }
}

TEST(ProfileDeathTest, NeedsAGpu) { EXPECT_DEATH(Profile::unknown().steps_per_second(0), ""); }

TEST(Profile, StatesLossAndGpuUse) {
  Profile profile = Profile::matrix("m", small_matrix());
  EXPECT_FALSE(profile.loss().has_value());
  EXPECT_EQ(profile.gpu_use(), 1);
  profile.state_loss({0.1, 0.2, 0.3});
  profile.state_gpu_use(0.4);
  ASSERT_TRUE(profile.loss().has_value());
  EXPECT_EQ(profile.loss()->b0, 0.1);
  EXPECT_EQ(profile.loss()->b1, 0.2);
  EXPECT_EQ(profile.loss()->b2, 0.3);
  EXPECT_EQ(profile.gpu_use(), 0.4);
}

TEST(Profile, KeepsItsFactsInTheScalarTwin) {
  Profile profile = Profile::matrix("m", small_matrix());
  profile.state_scaling({1, 0, 0});
  profile.state_loss({0.1, 0.2, 0.3});
  profile.state_gpu_use(0.4);
  const Profile twin = profile.scalar_reference();
  EXPECT_EQ(twin.steps_per_second(8), 8);
  ASSERT_TRUE(twin.loss().has_value());
  EXPECT_EQ(twin.loss()->b2, 0.3);
  EXPECT_EQ(twin.gpu_use(), 0.4);
}

TEST(UnknownProfile, MayHaveANameAndATypicalLoss) {
  const Profile profile = Profile::unknown("a3c");
  EXPECT_EQ(profile.name(), "a3c");
  EXPECT_FALSE(profile.sensitivity_known());
  EXPECT_EQ(profile.speed(1500, 64000, 0), 0.5);
  ASSERT_TRUE(profile.loss().has_value());
  EXPECT_GT(profile.loss()->b0, 0);
  EXPECT_GT(profile.loss()->b1, 0);
  ProfileTable table;
  ASSERT_TRUE(table.add(profile).ok());
  EXPECT_NE(table.find("a3c"), ProfileTable::kUnknown);
}

TEST(ProfileTable, FindsByNameAndRefusesTwins) {
  ProfileTable table;
  EXPECT_EQ(table.size(), 1U);
  EXPECT_TRUE(table.names().empty());
  const Result<ProfileId> id = table.add(Profile::matrix("m", small_matrix()));
  ASSERT_TRUE(id.ok());
  EXPECT_EQ(table.find("m"), id.value());
  EXPECT_EQ(table.find("x"), ProfileTable::kUnknown);
  EXPECT_EQ(table.find(""), ProfileTable::kUnknown);
  EXPECT_EQ(table[id.value()].name(), "m");
  EXPECT_EQ(table.names(), std::vector<std::string_view>{"m"});
  EXPECT_EQ(table.add(Profile::matrix("m", small_matrix())).error().message,
            "profile named twice: m");
  EXPECT_EQ(table.add(Profile::unknown()).error().message, "profile without a name");
}

TEST(CheckMatrix, SaysWhatIsWrong) {
  struct Row {
    SpeedMatrix matrix;
    const char* message;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Row rows[] = {
      {{{}, {1}, {}}, "cpus: empty axis"},
      {{{1}, {}, {}}, "mem: empty axis"},
      {{{0}, {1}, {1}}, "cpus: axis value 1 is not positive"},
      {{{1}, {-1}, {1}}, "mem: axis value 1 is not positive"},
      {{{1, 1}, {1}, {1, 1}}, "cpus: axis value 2 does not ascend"},
      {{{1, 2}, {1}, {1}}, "speed: 1 values for a grid of 2 x 1"},
      {{{1}, {1}, {0}}, "speed: row 1, column 1: 0 is not a positive number"},
      {{{1}, {1}, {nan}}, "speed: row 1, column 1: nan is not a positive number"},
      {{{1}, {1}, {2e6}}, "speed: row 1, column 1: 2000000 is not a positive number"},
      {{{1, 2}, {1}, {2, 1}}, "speed: row 2, column 1: decreases with more CPUs"},
      {{{1}, {1, 2}, {2, 1}}, "speed: row 1, column 2: decreases with more memory"},
  };
  for (const Row& row : rows) {
    const MaybeError refusal = check_matrix(row.matrix);
    ASSERT_TRUE(refusal.has_value()) << row.message;
    EXPECT_EQ(refusal->message, row.message);
  }
  EXPECT_FALSE(check_matrix(small_matrix()).has_value());
}

}  // namespace
}  // namespace muster
