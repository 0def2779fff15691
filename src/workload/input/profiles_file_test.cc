#include "workload/input/profiles_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/types/random.h"
#include "base/types/testing.h"
#include "workload/input/testing.h"

namespace muster {
namespace {

constexpr std::string_view kSmallProfiles = R"(profiles:
  - name: net
    task: image
    batch: 64
    iteration_seconds: 0.5
    ideal: {cpus: 6, mem_gb: 62.5, speedup: 1.5}
    matrix:
      cpus: [1, 3, 6]
      mem_gb: [20.83, 62.5]
      speed:
        - [0.1, 0.5]
        - [0.1, 1.0]
        - [0.1, 1.5]
    gpu_types: {v100: 1, a100: 2.5}
    scaling: {compute: 2, fixed: 0.5, each: 0.25}
    loss: {b0: 0.02, b1: 0.2, b2: 1.5}
    gpu_use: 0.6
  - name: flow
    formula: {gpu_seconds: 0.1, cpu_seconds: 0.6, mib_per_step: 50, dataset_gb: 140, base_mem_gb: 4}
)";

constexpr std::string_view kSmallJson = R"({"source": "test", "profiles": [
 {"set": "models", "name": "net_1", "model": "net", "task": "image", "gpus": 1, "cpus": 6,
  "mem": 62.5, "batch": 64, "iter_time": 0.5, "speedup": 1.5, "cpu_axis": [1, 3, 6],
  "mem_axis": [20.83, 62.5], "tput": [[0.1, 0.5], [0.1, 1.0], [0.1, 1.5]]},
 {"set": "models", "name": "net_2", "model": "net", "gpus": 2, "tput": [[0]]},
 {"set": "models-4", "name": "net_1", "model": "net", "gpus": 1, "tput": [[0]]}]}
)";

std::string profiles_refusal(std::string_view text) {
  return error_text(parse_profiles(text, "p.yaml"));
}

TEST(ProfilesFile, ReadsMatrixFormulaAndGpuTypes) {
  const Result<ProfileFile> file = parse_profiles(kSmallProfiles, "p.yaml");
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_TRUE(file.value().notes.empty());
  const ProfileTable& table = file.value().table;
  const Profile& net = table[table.find("net")];
  EXPECT_EQ(net.speed(6000, 64000, 0), 1.5);
  EXPECT_EQ(net.gpu_factor("a100"), 2.5);
  EXPECT_EQ(net.gpu_factor("t4"), 1.0);
  const Profile& flow = table[table.find("flow")];
  EXPECT_EQ(flow.speed(kReferenceShare), 1.0);
  // By hand: CPU 0.6 / 3 = 0.2 s; fetching 50 * (1 - 58.5 / 140) / 62.5 = 0.466 s.
  EXPECT_NEAR(flow.iteration_seconds(), 50 * (1 - 58.5 / 140) / 62.5, 1e-12);
}

TEST(ProfilesFile, ReadsACurveByCpusAlone) {
  const Result<ProfileFile> file = parse_profiles(
      "profiles:\n  - name: net\n    matrix:\n      cpus: [0.5, 1, 2]\n      speed: [1, [2], 2]\n",
      "p.yaml");
  ASSERT_TRUE(file.ok()) << file.error().message;
  const ProfileTable& table = file.value().table;
  const Profile& net = table[table.find("net")];
  EXPECT_FALSE(net.memory_known());
  EXPECT_EQ(net.speed(500, 10, 0), 0.5);
  EXPECT_EQ(net.ideal().cpu_milli, 1000);
  const Result<ProfileFile> wrong = parse_profiles(
      "profiles:\n  - name: net\n    matrix:\n      cpus: [0.5, 1]\n      speed: [1, [2, 3]]\n",
      "p.yaml");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().message, "p.yaml:5: speed: must have one value per row without 'mem_gb'");
}

TEST(ProfilesFile, ReadsHowAJobScalesAndLearns) {
  const Result<ProfileFile> file = parse_profiles(kSmallProfiles, "p.yaml");
  ASSERT_TRUE(file.ok()) << file.error().message;
  const ProfileTable& table = file.value().table;
  const Profile& net = table[table.find("net")];
  EXPECT_DOUBLE_EQ(net.steps_per_second(2), 2.75 / 2);
  ASSERT_TRUE(net.loss().has_value());
  EXPECT_EQ(net.loss()->b0, 0.02);
  EXPECT_EQ(net.loss()->b1, 0.2);
  EXPECT_EQ(net.loss()->b2, 1.5);
  EXPECT_EQ(net.gpu_use(), 0.6);
  const Profile& flow = table[table.find("flow")];  // Defaults.
  EXPECT_EQ(flow.steps_per_second(2), Profile::unknown().steps_per_second(2));
  EXPECT_FALSE(flow.loss().has_value());
  EXPECT_EQ(flow.gpu_use(), 1);
}

TEST(ProfilesFile, ReadsRecordedLosses) {
  const auto read = [](std::string_view loss) {
    const Result<ProfileFile> file =
        parse_profiles(replaced(kSmallProfiles, "b0: 0.02, b1: 0.2, b2: 1.5", loss), "p.yaml");
    EXPECT_TRUE(file.ok()) << file.error().message;
    return *file.value().table[ProfileId(1)].loss();
  };
  const LossFacts each_epoch = read("points: [4, 2.5, 3]");
  EXPECT_EQ(each_epoch.points, (std::vector<double>{4, 2.5, 3}));
  EXPECT_EQ(each_epoch.epochs, 2);
  EXPECT_EQ(read("points: [4, 2.5, 3], epochs: 90").epochs, 90);
}

TEST(ProfilesFile, RefusesImpossibleRecordedLosses) {
  const auto refusal = [](std::string_view loss) {
    return profiles_refusal(replaced(kSmallProfiles, "b0: 0.02, b1: 0.2, b2: 1.5", loss));
  };
  EXPECT_EQ(refusal("points: [4, 3], b2: 1"), "p.yaml:16: b2: cannot be used with 'points'");
  EXPECT_EQ(refusal("b0: 1, b1: 1, epochs: 9"), "p.yaml:16: epochs: requires 'points'");
  EXPECT_EQ(refusal("points: [4]"), "p.yaml:16: points: must have 2 to 1000 losses, but has 1");
  std::string many = "points: [4";
  for (int i = 0; i < 1000; ++i) many += ", 3";
  EXPECT_EQ(refusal(many + "]"), "p.yaml:16: points: must have 2 to 1000 losses, but has 1001");
  EXPECT_NE(refusal("points: 4").find("p.yaml:16: points: "), std::string::npos);
  EXPECT_NE(refusal("points: [4, 0]").find("p.yaml:16: points: "), std::string::npos);
  EXPECT_NE(refusal("points: [4, .nan]").find("p.yaml:16: points: "), std::string::npos);
  EXPECT_NE(refusal("points: [4, 3], epochs: 0").find("p.yaml:16: epochs: "), std::string::npos);
}

TEST(ProfilesFile, ReadsTheDocumentedExample) {
  const Result<ProfileFile> file = parse_profiles(documented("profiles:"), "formats.md");
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_TRUE(file.value().notes.empty());
  EXPECT_EQ(file.value().table.names().size(), 2U);
}

TEST(ProfilesFile, ReadsSynergysForm) {
  const Result<ProfileFile> file = parse_profiles(kSmallJson, "p.json");
  ASSERT_TRUE(file.ok()) << file.error().message;
  ASSERT_EQ(file.value().notes.size(), 2U);
  EXPECT_EQ(file.value().notes[0], "p.json: 1 profiles of other sets ignored: models-4");
  EXPECT_EQ(file.value().table.names(), std::vector<std::string_view>{"net"});
  const Profile& net = file.value().table[ProfileId(1)];
  EXPECT_EQ(net.iteration_seconds(), 0.5);
  EXPECT_EQ(net.speed(3000, 64000, 0), 1.0);
}

TEST(ProfilesFile, RaisesFallingValuesAndSaysSo) {
  const Result<ProfileFile> file =
      parse_profiles(replaced(kSmallProfiles, "[0.1, 1.5]", "[0.2, 0.9]"), "p.yaml");
  ASSERT_TRUE(file.ok()) << file.error().message;
  ASSERT_EQ(file.value().notes.size(), 1U);
  EXPECT_EQ(file.value().notes[0],
            "p.yaml:10: speed: net: 1 of 6 values fall as CPUs or memory grow; raised to the "
            "running maximum");
  const Profile& net = file.value().table[ProfileId(1)];
  EXPECT_EQ(net.speed(6000, 64000, 0), 1.0);
  EXPECT_EQ(net.speed(6000, 21330, 0), 0.2);
}

TEST(ProfilesFile, DividesByTheReferenceAndSaysSo) {
  std::string text = replaced(kSmallProfiles, "[0.1, 0.5]", "[25, 125]");
  text = replaced(text, "[0.1, 1.0]", "[25, 250]");
  text = replaced(text, "[0.1, 1.5]", "[25, 375]");
  const Result<ProfileFile> file = parse_profiles(text, "p.yaml");
  ASSERT_TRUE(file.ok()) << file.error().message;
  ASSERT_EQ(file.value().notes.size(), 1U);
  EXPECT_EQ(file.value().notes[0],
            "p.yaml:10: speed: net: divided by 250, the value at 3 CPUs and 62.5 GB, so that it is "
            "1 there");
  EXPECT_EQ(file.value().table[ProfileId(1)].speed(6000, 64000, 0), 1.5);
}

TEST(ProfilesFile, RefusesBadNamesAndNumbersInOneLine) {
  expect_edits(
      kSmallProfiles, profiles_refusal,
      {
          {"profiles: -> profles:", "p.yaml:1: unknown key: 'profles'; did you mean 'profiles'?"},
          {"profiles:\n -> profiles: many\nx:\n", "p.yaml:2: unknown key: 'x'; one of: profiles"},
          {"name: net -> nmae: net",
           "p.yaml:2: profiles: unknown key: 'nmae'; did you mean 'name'?"},
          {"name: net -> ", "p.yaml:3: profiles: missing key: 'name'"},
          {"name: net -> name:", "p.yaml:2: name: not a name: nothing"},
          {"name: net -> name: ''", "p.yaml:2: name: empty name"},
          {"name: net -> name: [a]", "p.yaml:2: name: not a name: a list"},
          {"name: net -> name: two words",
           "p.yaml:2: name: a name has only letters, digits and . _ - + : /: 'two words'"},
          {"name: flow -> name: net", "p.yaml:18: profiles: profile named twice: 'net'"},
          {"name: net -> name: net\n    name: b", "p.yaml:3: key given twice: 'name'"},
          {"batch: 64 -> batch: 64.5", "p.yaml:4: batch: not a whole number: '64.5'"},
          {"batch: 64 -> batch: 0", "p.yaml:4: batch: not between 1 and 1000000000: '0'"},
          {"batch: 64 -> batch: {a: 1}", "p.yaml:4: batch: not a number: a map"},
          {"seconds: 0.5 -> seconds: -0.5",
           "p.yaml:5: iteration_seconds: not between 1e-06 and 100000: '-0.5'"},
          {"seconds: 0.5 -> seconds: .nan", "p.yaml:5: iteration_seconds: not a number: '.nan'"},
          {"seconds: 0.5 -> seconds: nan", "p.yaml:5: iteration_seconds: not a number: 'nan'"},
          {"seconds: 0.5 -> seconds: 1e999",
           "p.yaml:5: iteration_seconds: number too large: '1e999'"},
      });
}

TEST(ProfilesFile, RefusesBadSpeedsInOneLine) {
  expect_edits(
      kSmallProfiles, profiles_refusal,
      {
          {"ideal: {cpus: 6, -> ideal: {cpu: 6,",
           "p.yaml:6: ideal: unknown key: 'cpu'; did you mean 'cpus'?"},
          {"ideal: {cpus: 6, -> ideal: {", "p.yaml:6: ideal: missing key: 'cpus'"},
          {"ideal: {cpus: 6, mem_gb: 62.5, speedup: 1.5} -> ideal: 6",
           "p.yaml:6: ideal: not a map of cpus, mem_gb, speedup: '6'"},
          {"cpus: 6 -> cpus: six", "p.yaml:6: cpus: not a number: 'six'"},
          {"cpus: [1, 3, 6] -> cpus: [1, 3, 3]", "p.yaml:8: cpus: does not ascend: '3'"},
          {"cpus: [1, 3, 6] -> cpus: [0, 3, 6]",
           "p.yaml:8: cpus: not between 0.001 and 1000000: '0'"},
          {"cpus: [1, 3, 6] -> cpus: []", "p.yaml:8: cpus: empty list"},
          {"cpus: [1, 3, 6] -> cpus: 1", "p.yaml:8: cpus: not a list: '1'"},
          {"cpus: [1, 3, 6] -> cpus: [1, 3]", "p.yaml:10: speed: 3 rows for 2 values of cpus"},
          {"[0.1, 1.5] -> [0.1]", "p.yaml:13: speed: 1 values in a row for 2 values of mem_gb"},
          {"[0.1, 1.5] -> [0, 1.5]", "p.yaml:13: speed: not between 1e-09 and 1000000: '0'"},
          {"[0.1, 1.5] -> [inf, 1.5]", "p.yaml:13: speed: not a number: 'inf'"},
          {"[0.1, 1.5] -> 7", "p.yaml:13: speed: not a list: '7'"},
          {"{v100: 1, a100: 2.5} -> {v100: fast}", "p.yaml:14: v100: not a number: 'fast'"},
          {"{v100: 1, a100: 2.5} -> [v100]",
           "p.yaml:14: gpu_types: not a map of GPU types to speeds"},
          {"{v100: 1, a100: 2.5} -> {v 100: 1}",
           "p.yaml:14: 'v 100': a name has only letters, digits and . _ - + : /: 'v 100'"},
      });
}

TEST(ProfilesFile, RefusesBadScalingAndLossInOneLine) {
  expect_edits(
      kSmallProfiles, profiles_refusal,
      {
          {"scaling: {compute: 2 -> scaling: {comput: 2",
           "p.yaml:15: scaling: unknown key: 'comput'; did you mean 'compute'?"},
          {"scaling: {compute: 2,  -> scaling: {", "p.yaml:15: scaling: missing key: 'compute'"},
          {"compute: 2 -> compute: -2", "p.yaml:15: compute: not between 0 and 1000000: '-2'"},
          {"each: 0.25 -> each: 1e7", "p.yaml:15: each: not between 0 and 1000000: '1e7'"},
          {"fixed: 0.5 -> fixed: nan", "p.yaml:15: fixed: not a number: 'nan'"},
          {"{compute: 2, fixed: 0.5, each: 0.25} -> {compute: 0}",
           "p.yaml:15: scaling: the sum of 'compute', 'fixed' and 'each' is below 1e-06"},
          {"{compute: 2, fixed: 0.5, each: 0.25} -> 2",
           "p.yaml:15: scaling: not a map of compute, fixed, each: '2'"},
          {"scaling: -> scalling:",
           "p.yaml:15: profiles: unknown key: 'scalling'; did you mean 'scaling'?"},
          {"b0: 0.02 -> b: 0.02", "p.yaml:16: loss: unknown key: 'b'; did you mean 'b0'?"},
          {"b0: 0.02,  -> ", "p.yaml:16: loss: missing key: 'b0'"},
          {"b1: 0.2,  -> ", "p.yaml:16: loss: missing key: 'b1'"},
          {"b1: 0.2 -> b1: 0", "p.yaml:16: b1: not between 1e-06 and 1000000: '0'"},
          {"b2: 1.5 -> b2: -1", "p.yaml:16: b2: not between 0 and 1000000: '-1'"},
          {"gpu_use: 0.6 -> gpu_use: 0", "p.yaml:17: gpu_use: not between 0.001 and 1: '0'"},
          {"gpu_use: 0.6 -> gpu_use: 1.1", "p.yaml:17: gpu_use: not between 0.001 and 1: '1.1'"},
          {"gpu_use: 0.6 -> gpu_use: [1]", "p.yaml:17: gpu_use: not a number: a list"},
      });
}

TEST(ProfilesFile, RefusesABadFormulaInOneLine) {
  expect_edits(
      kSmallProfiles, profiles_refusal,
      {
          {"    formula: ->     batch: 1\n    #",
           "p.yaml:18: profiles: 'matrix' or 'formula' is required: 'flow'"},
          {"    formula: ->     skew: 0.5\n    ideal: {cpus: 1, mem_gb: 1}\n    #",
           "p.yaml:18: profiles: 'matrix' or 'formula' is required: 'flow'"},
          {"    formula: ->     matrix: {}\n    formula:",
           "p.yaml:18: profiles: 'matrix' and 'formula' cannot be combined: 'flow'"},
          {"    formula: ->     iteration_seconds: 1\n    formula:",
           "p.yaml:19: iteration_seconds: cannot be combined with 'formula'; remove it"},
          {"cpu_seconds: 0.6 -> cpu_second: 0.6",
           "p.yaml:19: formula: unknown key: 'cpu_second'; did you mean 'cpu_seconds'?"},
          {"{gpu_seconds: 0.1,  -> {", "p.yaml:19: formula: missing key: 'gpu_seconds'"},
          {", dataset_gb: 140 -> ",
           "p.yaml:19: formula: 'mib_per_step' requires the size of the data: missing key: "
           "'dataset_gb'"},
          {"base_mem_gb: 4 -> base_mem_gb: 80",
           "p.yaml:19: base_mem_gb: not between 0 and 62.5: '80'"},
      });
}

TEST(ProfilesFile, RefusesFilesWithoutProfilesInOneLine) {
  EXPECT_EQ(profiles_refusal("profiles: []"), "p.yaml:1: profiles: empty list");
  EXPECT_EQ(profiles_refusal("profiles:"), "p.yaml:1: profiles: not a list: nothing");
  EXPECT_EQ(profiles_refusal("- a"), "p.yaml:1: not a map of profiles: a list");
  EXPECT_EQ(profiles_refusal("hello"), "p.yaml:1: not a map of profiles: 'hello'");
  EXPECT_EQ(profiles_refusal("{}"), "p.yaml:1: missing key: 'profiles'");
  EXPECT_EQ(
      profiles_refusal("profiles: [3]"),
      "p.yaml:1: profiles: not a map of name, task, batch, iteration_seconds, ideal, matrix, "
      "formula, gpu_types, skew, scaling, loss, gpu_use, parameters_mb, compute_seconds: '3'");
}

TEST(ProfilesFile, MayStateTheSkewAlone) {
  const Result<ProfileFile> file =
      parse_profiles("profiles:\n  - name: vgg16\n    skew: 0.743\n", "p.yaml");
  ASSERT_TRUE(file.ok()) << file.error().message;
  const Profile& profile = file.value().table[file.value().table.find("vgg16")];
  EXPECT_EQ(profile.name(), "vgg16");
  EXPECT_FALSE(profile.sensitivity_known());
  EXPECT_TRUE(profile.is_skewed());
  EXPECT_EQ(profile.skew(), 0.743);
}

TEST(ProfilesFile, MayStateTheParameters) {
  const Result<ProfileFile> file = parse_profiles(
      "profiles:\n"
      "  - {name: a, parameters_mb: 2, compute_seconds: 0.5}\n"
      "  - {name: b, parameters_mb: 3, iteration_seconds: 0.7}\n"
      "  - {name: c, parameters_mb: 4, iteration_seconds: 0.7, compute_seconds: 0.6}\n"
      "  - {name: d, parameters_mb: 5, formula: {gpu_seconds: 0.1}}\n"
      "  - {name: e, skew: 0.5}\n",
      "p.yaml");
  ASSERT_TRUE(file.ok()) << file.error().message;
  const ProfileTable& table = file.value().table;
  const auto expect = [&](const char* name, double mib, double seconds) {
    const std::optional<ExchangeFacts>& exchange = table[table.find(name)].exchange();
    ASSERT_TRUE(exchange.has_value()) << name;
    EXPECT_EQ(exchange->parameter_bytes, mib * 1024 * 1024) << name;
    EXPECT_DOUBLE_EQ(exchange->compute_seconds, seconds) << name;
  };
  expect("a", 2, 0.5);
  expect("b", 3, 0.7);
  expect("c", 4, 0.6);
  expect("d", 5, 0.1);
  EXPECT_EQ(table[table.find("a")].iteration_seconds(), 0) << "traces do not use compute_seconds";
  EXPECT_FALSE(table[table.find("e")].exchange().has_value());
  EXPECT_FALSE(table[ProfileTable::kUnknown].exchange().has_value());
}

TEST(ProfilesFile, RefusesBadParametersInOneLine) {
  const auto refusal = [](const std::string& keys) {
    return profiles_refusal("profiles: [{name: a, skew: 0.1, " + keys + "}]");
  };
  EXPECT_EQ(refusal("compute_seconds: 1"), "p.yaml:1: compute_seconds: requires 'parameters_mb'");
  EXPECT_EQ(refusal("parameters_mb: 9"),
            "p.yaml:1: parameters_mb: requires 'compute_seconds' or 'iteration_seconds'");
  EXPECT_EQ(refusal("parameters_mb: 0, compute_seconds: 1"),
            "p.yaml:1: parameters_mb: not between 0.001 and 1000000000: '0'");
  EXPECT_EQ(refusal("parameters_mb: 9, compute_seconds: 0"),
            "p.yaml:1: compute_seconds: not between 1e-06 and 100000: '0'");
}

TEST(ProfilesFile, RefusesBadSynergyInputInOneLine) {
  expect_edits(
      kSmallJson, profiles_refusal,
      {
          {"\"source\" -> \"sources\"", "p.yaml:1: unknown key: 'sources'; did you mean 'source'?"},
          {"\"batch\" -> \"bach\"",
           "p.yaml:3: profiles: unknown key: 'bach'; did you mean 'batch'?"},
          {"\"gpus\": 1 -> \"gpus\": 1.5", "p.yaml:2: gpus: not a whole number: '1.5'"},
          {"\"model\": \"net\",  -> ", "p.yaml:2: profiles: missing key: 'model'"},
          {"[1, 3, 6] -> [1, 6, 3]", "p.yaml:3: cpu_axis: does not ascend: '3'"},
          {"[0.1, 1.5] -> [0.1, null]", "p.yaml:4: tput: not a number: nothing"},
          {"[0.1, 1.5] -> [0.1, 1.5", "p.yaml:4: not YAML: illegal flow end"},
          {"\"models\" -> \"models-5\"", "p.yaml:1: no profile of set 'models' for 1 GPU"},
      });
}

TEST(ProfilesFile, SaysWhichFileIsMissing) {
  EXPECT_EQ(read_profiles("/no/such/zoo.yaml").error().message, "/no/such/zoo.yaml: no such file");
}

// Any content is either read or rejected with a one-line error; it never crashes the program.
TEST(ProfilesFile, SurvivesDamagedFiles) {
  constexpr std::uint64_t kSeed = 20261116;
  constexpr std::string_view kSpice = "[]{}:,-?&*!|>'\"%@#\n \t0.e~<=\\";
  Random random(kSeed);
  int accepted = 0;
  for (int round = 0; round < 4000; ++round) {
    const std::string_view whole = round % 2 == 0 ? kSmallProfiles : kSmallJson;
    const std::string text = damaged(std::string(whole), random, 6, kSpice);
    const Result<ProfileFile> file = parse_profiles(text, "p.yaml");
    if (file.ok()) {
      ++accepted;
      continue;
    }
    const std::string& message = file.error().message;
    EXPECT_EQ(message.rfind("p.yaml:", 0), 0U) << "round " << round << ": " << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << "round " << round << ": " << message;
  }
  EXPECT_GT(accepted,
            40);  // With fewer, the damage is too large to test the code after the parser.
}

}  // namespace
}  // namespace muster
