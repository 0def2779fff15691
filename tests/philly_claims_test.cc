// Compares a simulated Philly-like cluster with the published figures of Philly (Jeon et al., ATC
// 2019), by the commands that docs/results.md names. The figures are secondhand. The models of
// failures and of GPU utilization are calibrated to them: this test shows that the calibration
// holds for the whole program.

#include <gtest/gtest.h>

#include <string>

#include "cli/common/testing.h"

namespace muster {
namespace {

// One simulation for all tests of this file.
class PhillyClaims : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    dir_ = fs::temp_directory_path() / ("muster_philly_claims_" + std::to_string(getpid()));
    fs::create_directories(dir_);
    const std::string trace = (dir_ / "jobs.csv").string();
    const std::string run = (dir_ / "run").string();
    muster("trace generate --kind philly-like --jobs 82247 --out " + trace);
    muster("sim --trace " + trace +
           " --cluster 120x8,racks=6 --scheduler philly --failures on --out " + run);
    const Output got = muster("analyze --json " + run);
    ASSERT_EQ(got.status, kExitDone) << got.err;
    page_ = Json::parse(got.out);
    fs::remove_all(dir_);
  }

  static Json table(const std::string& key) {
    for (const Json& section : page_.at("sections")) {
      for (const Json& one : section.at("tables")) {
        if (one.at("key") == key) return one;
      }
    }
    ADD_FAILURE() << "no table " << key;
    return {};
  }

  static double value(const std::string& key, const std::string& row, const std::string& column) {
    const Json all = table(key);
    for (const Json& cells : all.at("rows")) {
      if (cells.at(0) != row) continue;
      for (std::size_t i = 0; i < cells.size(); ++i) {
        if (all.at("columns").at(i) == column) return cells.at(i).get<double>();
      }
    }
    ADD_FAILURE() << key << ": no " << row << ", " << column;
    return -1;
  }

  static inline fs::path dir_;
  static inline Json page_;
};

TEST_F(PhillyClaims, OutcomesHaveThePublishedShares) {
  EXPECT_NEAR(value("outcomes", "passed", "jobs (%)"), 69.3, 1.5);
  EXPECT_NEAR(value("outcomes", "killed", "jobs (%)"), 13.5, 1.5);
  EXPECT_NEAR(value("outcomes", "failed", "jobs (%)"), 17.2, 1.5);
  EXPECT_NEAR(value("outcomes", "passed", "GPU hours (%)"), 44.53, 5);
  EXPECT_NEAR(value("outcomes", "killed", "GPU hours (%)"), 37.69, 5);
  EXPECT_NEAR(value("outcomes", "failed", "GPU hours (%)"), 17.76, 5);
}

TEST_F(PhillyClaims, UserErrorsAreFrequentAndInfrastructureIsExpensive) {
  double of_users = 0, all = 0, infrastructure = 0, semantic = 0;
  const Json failures = table("failures");
  for (const Json& row : failures.at("rows")) {
    if (row.at(0) == "all") continue;
    const std::string buckets = row.at(1).get<std::string>();
    const auto trials = row.at(2).get<double>();
    const auto gpu_time = row.at(9).get<double>();
    all += trials;
    if (has(buckets, "user")) of_users += trials;
    if (buckets == "infrastructure") infrastructure += gpu_time;
    if (row.at(0) == "Semantic error") semantic = gpu_time;
  }
  EXPECT_GT(of_users / all, 0.8) << "of the failed attempts";
  // Without incorrect inputs, which may also be counted as infrastructure.
  EXPECT_GT(infrastructure + semantic, 45) << "percent of the GPU time of failed attempts";
}

TEST_F(PhillyClaims, GpuUtilizationHasThePublishedMeans) {
  struct Row {
    const char* gpus;
    double passed, killed, failed, all;
  };
  for (const Row& row :
       {Row{"1", 53.51, 37.02, 62.82, 52.38}, Row{"4", 51.13, 34.39, 50.95, 45.18},
        Row{"8", 51.09, 60.63, 64.34, 58.99}, Row{"16", 44.88, 36.98, 39.02, 40.39},
        Row{"all sizes", 52.43, 42.98, 60.43, 52.32}}) {
    EXPECT_NEAR(value("use-by-size", row.gpus, "passed (%)"), row.passed, 5) << row.gpus;
    EXPECT_NEAR(value("use-by-size", row.gpus, "killed (%)"), row.killed, 5) << row.gpus;
    EXPECT_NEAR(value("use-by-size", row.gpus, "failed (%)"), row.failed, 5) << row.gpus;
    EXPECT_NEAR(value("use-by-size", row.gpus, "all (%)"), row.all, 5) << row.gpus;
  }
  EXPECT_NEAR(value("use-of-16-by-servers", "2", "mean (%)"), 43.66, 5);
  EXPECT_NEAR(value("use-of-16-by-servers", "4", "mean (%)"), 40.94, 5);
  EXPECT_NEAR(value("use-of-16-by-servers", "8", "mean (%)"), 28.56, 5);
  // From memory 56.9 and 34.3; by the public notebook 58 and 41.5.
  EXPECT_NEAR(value("use-of-dedicated", "8 GPUs on 1 node", "mean (%)"), 56.9, 3);
  EXPECT_NEAR(value("use-of-dedicated", "16 GPUs on 2 nodes", "mean (%)"), 41.5, 3);
}

}  // namespace
}  // namespace muster
