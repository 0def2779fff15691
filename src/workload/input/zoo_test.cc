// Tests that the built-in models match the publications, profiles/zoo.yaml and the shared data.

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>

#include "tests/data.h"
#include "workload/input/profiles_file.h"

namespace muster {
namespace {

TEST(Zoo, HoldsTheTenModelsAsPublished) {
  struct Row {
    const char* model;
    const char* task;
    std::int64_t cpu_milli;
    std::int64_t mem_mib;
    double speedup;
    double iteration_seconds;
    std::int64_t batch;
  };
  const Row rows[] = {
      {"alexnet", "image", 12000, 128000, 2.94, 0.6, 512},
      {"res18", "image", 9000, 64000, 2.40, 0.64, 512},
      {"res50", "image", 4000, 64000, 1.15, 0.78, 512},
      {"mobilenet", "image", 6000, 64000, 1.55, 0.71, 512},
      {"shufflenet", "image", 12000, 128000, 2.89, 0.615, 512},
      {"gnmt", "language", 1000, 20480, 1.0, 0.12, 128},
      {"transformer", "language", 1000, 20480, 1.0, 0.67, 128},
      {"lstm", "language", 1000, 20480, 1.0, 0.011, 20},
      {"m5", "speech", 6000, 192000, 2.50, 0.6, 512},
      {"deepspeech", "speech", 3000, 64000, 1.0, 0.757, 20},
  };
  const ProfileFile zoo = builtin_zoo();
  EXPECT_EQ(zoo.table.names().size(), std::size(rows) + 9) << "and the nine of Tiresias' traces";
  EXPECT_EQ(zoo.facts.size(), zoo.table.size());
  for (const Row& row : rows) {
    const ProfileId id = zoo.table.find(row.model);
    ASSERT_NE(id, ProfileTable::kUnknown) << row.model;
    const Profile& profile = zoo.table[id];
    EXPECT_EQ(zoo.facts[id].task, row.task) << row.model;
    EXPECT_EQ(zoo.facts[id].batch, row.batch) << row.model;
    EXPECT_EQ(profile.ideal(), (Resources{1, row.cpu_milli, row.mem_mib, 62500})) << row.model;
    EXPECT_EQ(profile.stated_speedup(), row.speedup) << row.model;
    EXPECT_EQ(profile.iteration_seconds(), row.iteration_seconds) << row.model;
    EXPECT_EQ(profile.speed(kReferenceShare), 1.0) << row.model;
    EXPECT_EQ(profile.speed(profile.ideal()), row.speedup) << row.model;
    EXPECT_EQ(profile.cpu_points().size(), 9U) << row.model;
    EXPECT_EQ(profile.mem_points(),
              (std::vector<std::int64_t>{21330, 64000, 128000, 192000, 256000}))
        << row.model;
  }
}

TEST(Zoo, IsBuiltIn) {
  const ProfileTable table = builtin_profiles();
  EXPECT_EQ(table.names().size(), 19U);
  EXPECT_EQ(table[table.find("alexnet")].speed(12000, 128000, 0), 2.94);
  EXPECT_EQ(table[table.find("m5")].speed(6000, 128000, 0), 2.0);
}

// The built-in zoo is identical to the file.
TEST(Zoo, IsTheFileOfTheSourceTree) {
  const Result<ProfileFile> file = read_profiles(
      (std::filesystem::path(__FILE__).parent_path() / "../../../profiles/zoo.yaml").string());
  ASSERT_TRUE(file.ok()) << file.error().message;
  const ProfileTable& read = file.value().table;
  const ProfileTable built = builtin_profiles();
  ASSERT_EQ(built.names(), read.names());
  for (std::size_t i = 1; i < built.size(); ++i) {
    const Profile& a = built[ProfileId(i)];
    const Profile& b = read[ProfileId(i)];
    EXPECT_EQ(a.ideal(), b.ideal()) << a.name();
    EXPECT_EQ(a.skew(), b.skew()) << a.name();
    EXPECT_EQ(a.exchange().has_value(), b.exchange().has_value()) << a.name();
    EXPECT_EQ(a.gpu_use(), b.gpu_use()) << a.name();
    for (const std::int32_t gpus : {1, 2, 3, 8, 64}) {
      EXPECT_EQ(a.steps_per_second(gpus), b.steps_per_second(gpus)) << a.name();
    }
    ASSERT_TRUE(a.loss().has_value() && b.loss().has_value()) << a.name();
    EXPECT_EQ(a.loss()->points, b.loss()->points) << a.name();
    EXPECT_EQ(a.loss()->epochs, b.loss()->epochs) << a.name();
  }
}

// The names in tiresias_60_job.csv and baseline_syn480.csv. Only their placement and the cost of
// running on several nodes differ from an unknown model.
TEST(Zoo, HasTheSizesOfTheModelsInTiresiasTraces) {
  const ProfileTable zoo = builtin_profiles();
  const Profile unknown = Profile::unknown();
  for (const char* model : {"vgg11", "vgg16", "vgg19", "resnet50", "resnet101", "resnet152",
                            "inception3", "inception4", "googlenet", "alexnet"}) {
    const ProfileId id = zoo.find(model);
    ASSERT_NE(id, ProfileTable::kUnknown) << model;
    const Profile& profile = zoo[id];
    const std::string_view name = model;
    EXPECT_EQ(profile.is_skewed(), name.starts_with("vgg") || name == "alexnet") << model;
    EXPECT_GT(profile.skew(), 0) << model;
    if (name == "alexnet") continue;
    EXPECT_TRUE(profile.exchange().has_value()) << model;
    EXPECT_FALSE(profile.sensitivity_known()) << model;
    ASSERT_TRUE(profile.loss().has_value()) << model;
    EXPECT_TRUE(profile.loss()->points.empty()) << model;
    EXPECT_EQ(profile.iteration_seconds(), 0) << model;
    EXPECT_EQ(profile.ideal(), unknown.ideal()) << model;
    EXPECT_EQ(profile.gpu_use(), unknown.gpu_use()) << model;
    EXPECT_EQ(profile.steps_per_second(8), unknown.steps_per_second(8)) << model;
    for (const std::int64_t cpus : {500, 3000, 12000}) {
      EXPECT_EQ(profile.speed(cpus, 64000, 0), unknown.speed(cpus, 64000, 0)) << model;
    }
  }
}

TEST(Zoo, ScalesAsMeasured) {
  const ProfileTable zoo = builtin_profiles();
  struct Row {
    const char* model;
    double on_two;
    double on_eight;
  };
  // Steps per second of elasticflow_throughputs.csv, relative to one GPU.
  const Row rows[] = {
      {"res50", 1.87, 5.63}, {"transformer", 1.59, 2.80}, {"deepspeech", 1.77, 3.25}};
  for (const Row& row : rows) {
    const Profile& profile = zoo[zoo.find(row.model)];
    EXPECT_NEAR(profile.steps_per_second(2), row.on_two, 0.06 * row.on_two) << row.model;
    EXPECT_NEAR(profile.steps_per_second(8), row.on_eight, 0.06 * row.on_eight) << row.model;
  }
  const double typical = Profile::unknown().steps_per_second(8);
  for (const char* model : {"alexnet", "res18", "mobilenet", "shufflenet", "gnmt", "lstm", "m5"}) {
    EXPECT_EQ(zoo[zoo.find(model)].steps_per_second(8), typical) << model;
  }
}

// Optimus' rule as in engine/fit/loss_curve.h: the first training epoch for which the previous ten
// epochs reduced the loss by less than 5% of the initial loss.
int passes_to_converge(const LossFacts& loss) {
  int pass = 10;
  while (pass < 100 && loss.at(pass - 10) - loss.at(pass) >= 0.05 * loss.at(0)) ++pass;
  return pass;
}

TEST(Zoo, ConvergesInReasonableTime) {
  const ProfileTable zoo = builtin_profiles();
  EXPECT_EQ(passes_to_converge(*zoo[ProfileTable::kUnknown].loss()), 38);
  for (std::size_t i = 0; i < zoo.size(); ++i) {
    const Profile& profile = zoo[ProfileId(i)];
    ASSERT_TRUE(profile.loss().has_value()) << profile.name();
    // Above the window of ten epochs, where the rule would apply to any curve.
    EXPECT_GE(passes_to_converge(*profile.loss()), 15) << profile.name();
    EXPECT_LE(passes_to_converge(*profile.loss()), 60) << profile.name();
  }
}

TEST(Zoo, EqualsTheSharedMeasurements) {
  const std::optional<std::string> found = data_file("synergy_profiles.json");
  if (!found) GTEST_SKIP() << "synergy_profiles.json not found; set MUSTER_DATA";
  const std::string& path = *found;
  const Result<ProfileFile> file = read_profiles(path);
  ASSERT_TRUE(file.ok()) << file.error().message;
  const ProfileFile zoo = builtin_zoo();
  EXPECT_EQ(file.value().table.names().size(),
            12U);  // The built-in models, and two that Synergy never uses.
  ASSERT_EQ(file.value().notes.size(), 2U);
  EXPECT_EQ(file.value().notes[0],
            path + ": 36 profiles of other sets ignored: models-4, models-5, models-6");
  EXPECT_EQ(file.value().notes[1],
            path + ": 21 profiles for 2 or more GPUs ignored: the one for 1 GPU is used instead");
  for (const std::string_view name : zoo.table.names()) {
    const ProfileId ours = zoo.table.find(name);
    if (!zoo.table[ours].sensitivity_known()) continue;
    const ProfileId theirs = file.value().table.find(name);
    ASSERT_NE(theirs, ProfileTable::kUnknown) << name;
    const Profile& a = zoo.table[ours];
    const Profile& b = file.value().table[theirs];
    EXPECT_EQ(a.cpu_points(), b.cpu_points()) << name;
    EXPECT_EQ(a.mem_points(), b.mem_points()) << name;
    EXPECT_EQ(a.ideal(), b.ideal()) << name;
    EXPECT_EQ(a.stated_speedup(), b.stated_speedup()) << name;
    EXPECT_EQ(a.iteration_seconds(), b.iteration_seconds()) << name;
    EXPECT_EQ(zoo.facts[ours].task, file.value().facts[theirs].task) << name;
    EXPECT_EQ(zoo.facts[ours].batch, file.value().facts[theirs].batch) << name;
    for (const std::int64_t cpu : a.cpu_points()) {
      for (const std::int64_t mem : a.mem_points()) {
        EXPECT_EQ(a.speed(cpu, mem, 0), b.speed(cpu, mem, 0)) << name << ' ' << cpu << ' ' << mem;
      }
    }
  }
}

}  // namespace
}  // namespace muster
