// Compares with the results of other simulators for the same input, through the whole program:
// command line, reader, engine, summary. Sources: peers.md 3.1 and 3.2, synergy.md 6.

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "base/text/text.h"
#include "cli/common/command.h"
#include "data.h"

namespace muster {
namespace {

using Json = nlohmann::json;

Json sim_json(const std::string& options) {
  std::vector<std::string> words = {"sim", "--json"};
  for (const std::string_view word : split(options, ' ')) words.emplace_back(word);
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(run_muster(words, {out, err}), kExitDone) << options << '\n' << err.str();
  return Json::parse(out.str(), nullptr, /*allow_exceptions=*/false);
}

struct Figures {
  const char* name;  // Name of the test.
  const char* trace;
  std::size_t jobs;
  const char* cluster;
  const char* policy;
  const char* placement;
  double mean;  // Mean JCT in seconds with two decimals, like the waiting time.
  double median;
  double p95;
  double p99;
  double wait;
  double makespan;
  int preemptions;
};

class Tiresias : public testing::TestWithParam<Figures> {};

TEST_P(Tiresias, GivesTheFiguresItsSimulatorPrints) {
  const Figures& want = GetParam();
  const std::optional<std::string> trace = data_file(want.trace);
  if (!trace) GTEST_SKIP() << want.trace << " not found; set MUSTER_DATA";
  const Json got = sim_json("--compat tiresias --trace " + *trace + " --cluster " + want.cluster +
                            " --policy " + want.policy + " --placement " + want.placement);
  EXPECT_EQ(got["jobs"], want.jobs);
  EXPECT_EQ(got["finished"], want.jobs);
  EXPECT_NEAR(got["jct_mean_s"], want.mean, 0.005001);
  EXPECT_EQ(got["jct_p50_s"], want.median);
  EXPECT_EQ(got["jct_p95_s"], want.p95);
  EXPECT_EQ(got["jct_p99_s"], want.p99);
  EXPECT_NEAR(got["wait_mean_s"], want.wait, 0.005001);
  EXPECT_EQ(got["makespan_s"], want.makespan);
  EXPECT_EQ(got["preemptions"], want.preemptions);
}

constexpr const char* k60 = "tiresias_60_job.csv";
constexpr const char* k480 = "baseline_syn480.csv";
// Tiresias' dlas-gpu and dlas, with the three queues of its simulator.
constexpr const char* kGpuTime = "mlfq-las --queues 3250s,7200s";
constexpr const char* kTime = "mlfq-las --queues 3250s,7200s --queues-by-time";

INSTANTIATE_TEST_SUITE_P(SixtyJobsOn16Gpus, Tiresias,
                         testing::Values(Figures{"fifo", k60, 60, "4x4", "fifo", "count", 200.82,
                                                 149.5, 368, 1864, 22.40, 3335, 0},
                                         Figures{"fit_first", k60, 60, "4x4", "fit-first", "count",
                                                 190.68, 130.0, 368, 1800, 12.27, 3271, 0},
                                         Figures{"smallest_first", k60, 60, "4x4", "smallest-first",
                                                 "count", 198.20, 126.5, 500, 1800, 19.78, 3271, 8},
                                         Figures{"srtf", k60, 60, "4x4", "srtf", "count", 192.12,
                                                 126.5, 460, 1800, 13.70, 3271, 4},
                                         Figures{"srsf", k60, 60, "4x4", "srsf", "count", 195.90,
                                                 126.5, 498, 1844, 17.48, 3315, 7},
                                         Figures{"mlfq_las", k60, 60, "4x4", kGpuTime, "count",
                                                 190.68, 130.0, 368, 1800, 12.27, 3271, 0},
                                         Figures{"mlfq_las_by_time", k60, 60, "4x4", kTime, "count",
                                                 190.68, 130.0, 368, 1800, 12.27, 3271, 0},
                                         Figures{"yarn_fifo", k60, 60, "4x4", "fifo", "yarn",
                                                 219.18, 178.5, 412, 1870, 40.77, 3341, 0},
                                         Figures{"yarn_fit_first", k60, 60, "4x4", "fit-first",
                                                 "yarn", 219.18, 148.0, 487, 1800, 40.77, 3271, 0}),
                         [](const auto& it) { return it.param.name; });

INSTANTIATE_TEST_SUITE_P(
    SixtyJobsOn128Gpus, Tiresias,
    testing::Values(
        Figures{"fifo", k60, 60, "32x4", "fifo", "count", 178.42, 125, 368, 1800, 0, 3271, 0},
        Figures{"fit_first", k60, 60, "32x4", "fit-first", "count", 178.42, 125, 368, 1800, 0, 3271,
                0},
        Figures{"smallest_first", k60, 60, "32x4", "smallest-first", "count", 178.42, 125, 368,
                1800, 0, 3271, 0},
        Figures{"srtf", k60, 60, "32x4", "srtf", "count", 178.42, 125, 368, 1800, 0, 3271, 0},
        Figures{"srsf", k60, 60, "32x4", "srsf", "count", 178.42, 125, 368, 1800, 0, 3271, 0},
        Figures{"las", k60, 60, "32x4", "las", "count", 178.42, 125, 368, 1800, 0, 3271, 0},
        Figures{"mlfq_las", k60, 60, "32x4", kGpuTime, "count", 178.42, 125, 368, 1800, 0, 3271, 0},
        Figures{"yarn_fifo", k60, 60, "32x4", "fifo", "yarn", 178.42, 125, 368, 1800, 0, 3271, 0},
        Figures{"yarn_fit_first", k60, 60, "32x4", "fit-first", "yarn", 178.42, 125, 368, 1800, 0,
                3271, 0}),
    [](const auto& it) { return it.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Syn480On128Gpus, Tiresias,
    testing::Values(Figures{"fifo", k480, 480, "32x4", "fifo", "count", 9419.48, 8187.5, 24723,
                            50309, 4530.29, 110485, 0},
                    Figures{"fit_first", k480, 480, "32x4", "fit-first", "count", 6330.97, 2510.5,
                            25811, 48420, 1441.78, 100353, 0},
                    Figures{"smallest_first", k480, 480, "32x4", "smallest-first", "count", 6371.07,
                            2270.5, 27509, 48420, 1481.88, 99531, 64},
                    Figures{"srtf", k480, 480, "32x4", "srtf", "count", 6121.45, 1722.5, 31513,
                            71830, 1232.26, 110315, 716},
                    Figures{"srsf", k480, 480, "32x4", "srsf", "count", 5381.80, 1722.5, 24642,
                            49679, 492.61, 105540, 449},
                    Figures{"mlfq_las", k480, 480, "32x4", kGpuTime, "count", 6176.05, 2070.0,
                            26403, 49031, 1286.86, 99968, 349},
                    Figures{"mlfq_las_by_time", k480, 480, "32x4", kTime, "count", 7071.06, 1740.5,
                            31845, 65234, 2181.87, 102213, 939},
                    Figures{"yarn_fifo", k480, 480, "32x4", "fifo", "yarn", 10752.91, 9962.0, 27741,
                            51299, 5863.73, 115132, 0},
                    Figures{"yarn_fit_first", k480, 480, "32x4", "fit-first", "yarn", 6694.60,
                            2594.5, 30343, 48420, 1805.41, 101786, 0}),
    [](const auto& it) { return it.param.name; });

// Tiresias' own example: two GPUs; three jobs at the same time, 2 GPUs for 2, 1 for 8 and 2 for 6.
TEST(Sanity, J1_TiresiasToyExample) {
  const std::string path = testing::TempDir() + "muster_toy.csv";
  std::ofstream(path) << "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n"
                         "1,2,0,1,x,2,0\n2,1,0,1,x,8,0\n3,2,0,1,x,6,0\n";
  const std::string rest = " --compat tiresias --cluster 1x2 --round 1s --trace " + path;
  EXPECT_NEAR(sim_json("--policy srsf" + rest)["jct_mean_s"], 9.33, 0.005);
  EXPECT_NEAR(sim_json("--policy las" + rest)["jct_mean_s"], 11.67, 0.005);
}

// Other implementations that agree with each other on the mean JCT in seconds.
struct MeanJct {
  const char* name;
  const char* trace;
  const char* cluster;
  const char* policy;
  double mean;
};

class CrossCheck : public testing::TestWithParam<MeanJct> {};

TEST_P(CrossCheck, GivesTheMeanOfAnIndependentImplementation) {
  const MeanJct& want = GetParam();
  const std::optional<std::string> trace = data_file(want.trace);
  if (!trace) GTEST_SKIP() << want.trace << " not found; set MUSTER_DATA";
  const Json got = sim_json("--compat tiresias --placement count --trace " + *trace +
                            " --cluster " + want.cluster + " --policy " + want.policy);
  EXPECT_EQ(got["finished"], got["jobs"]);
  EXPECT_NEAR(got["jct_mean_s"], want.mean, 0.005001);
}

INSTANTIATE_TEST_SUITE_P(
    Peers, CrossCheck,
    testing::Values(MeanJct{"alibaba_pai_sjf", k480, "32x4", "sjf", 5911.88},
                    MeanJct{"alibaba_pai_fifo_skipping", k480, "32x4", "fit-first", 6330.97},
                    MeanJct{"lucid_fifo", k480, "32x4", "fifo", 9419.48},
                    MeanJct{"easy_in_python_480", k480, "32x4", "backfill", 8155.50},
                    MeanJct{"easy_in_python_60", k60, "4x4", "backfill", 194.13}),
    [](const auto& it) { return it.param.name; });

struct Hours {
  const char* policy;
  const char* mechanism;
  double makespan;
  double mean;
  double p99 = 0;  // 0: not known.
};

class Synergy : public testing::TestWithParam<Hours> {
 protected:
  static void expect_figures(const std::string& profiles) {
    const Hours& want = GetParam();
    const char* const file = std::string_view(want.policy) == "fifo" ? "synergy_static_100job.txt"
                                                                     : "synergy_dynamic_100job.txt";
    const std::optional<std::string> trace = data_file(file);
    if (!trace) GTEST_SKIP() << file << " not found; set MUSTER_DATA";
    const Json got =
        sim_json("--compat synergy --cluster 4x8,cpus=24,mem=500 --round 300s --policy " +
                 std::string(want.policy) + " --trace " + *trace + " --mechanism " +
                 want.mechanism + profiles);
    EXPECT_EQ(got["jobs"], 100);
    EXPECT_EQ(got["finished"], 100);
    EXPECT_NEAR(got["makespan_s"].get<double>() / 3600, want.makespan, 0.001);
    EXPECT_NEAR(got["jct_mean_s"].get<double>() / 3600, want.mean, 0.001);
    if (want.p99 > 0) EXPECT_NEAR(got["jct_p99_s"].get<double>() / 3600, want.p99, 0.001);
  }
};

TEST_P(Synergy, GivesItsSimulatorsFiguresWithItsOwnProfiles) {
  const std::optional<std::string> profiles = data_file("synergy_profiles.json");
  if (!profiles) GTEST_SKIP() << "synergy_profiles.json not found; set MUSTER_DATA";
  expect_figures(" --profiles " + *profiles);
}

TEST_P(Synergy, GivesItsSimulatorsFiguresWithTheBuiltInZoo) { expect_figures(""); }

INSTANTIATE_TEST_SUITE_P(Static100Jobs, Synergy,
                         testing::Values(Hours{"fifo", "proportional", 15.250, 5.631, 12.940},
                                         Hours{"fifo", "greedy", 12.334, 5.494, 11.756},
                                         Hours{"fifo", "tune", 11.000, 5.083, 10.588},
                                         Hours{"srtf", "greedy", 13.917, 3.233},
                                         Hours{"srtf", "tune", 13.250, 3.188}),
                         [](const auto& it) {
                           return std::string(it.param.policy) + "_" + it.param.mechanism;
                         });

}  // namespace
}  // namespace muster
