// `muster doctor` where there is no Slurm; tests/slurm_doctor_test.py has the rest.

#include <cstdlib>

#include "cli/common/testing.h"

namespace muster {
namespace {

class DoctorCli : public ScratchTest {
 protected:
  DoctorCli() {
    if (const char* path = std::getenv("PATH")) path_ = path;
    ::setenv("PATH", dir_.c_str(), 1);
  }
  ~DoctorCli() override { ::setenv("PATH", path_.c_str(), 1); }
  std::string path_;
};

TEST_F(DoctorCli, OneLineWithoutSlurm) {
  const Output got = muster("doctor --home " + path("home"));
  EXPECT_EQ(got.status, kExitFailed);
  EXPECT_TRUE(got.out.starts_with("sbatch: not found: ")) << got.out;
  EXPECT_EQ(std::count(got.out.begin(), got.out.end(), '\n'), 1);
  EXPECT_FALSE(fs::exists(path("home")));
}

TEST_F(DoctorCli, JsonHasTheChecks) {
  const Json json = Json::parse(muster("doctor --json").out);
  EXPECT_EQ(json["ok"], false);
  ASSERT_EQ(json["checks"].size(), 1U);
  EXPECT_EQ(json["checks"][0]["check"], "sbatch");
  EXPECT_EQ(json["checks"][0]["level"], "fail");
}

TEST_F(DoctorCli, RefusesWhatIsNoTime) {
  expect_refused(muster("doctor --timeout soon"), "--timeout: ");
  expect_refused(muster("doctor --timeout 0s"), "--timeout: must be from 1s to 10m: '0s'");
}

TEST_F(DoctorCli, TakesTheConfiguration) {
  expect_refused(muster("doctor --config " + path("none.yaml")), "none.yaml");
  expect_refused(
      muster("doctor --config " + file("bad.yaml", "executor: slurm\nslurm: {partitoin: x}\n")),
      "partitoin");
  const Json json = Json::parse(muster("doctor --json --config " + file("a.yaml", "{}\n")).out);
  ASSERT_EQ(json["checks"].size(), 2U);
  EXPECT_EQ(json["checks"][0]["check"], "config");
  EXPECT_EQ(json["checks"][0]["level"], "warn");
  const std::string slurm = file("b.yaml", "executor: slurm\nslurm: {partition: gpu}\n");
  EXPECT_EQ(Json::parse(muster("doctor --json --config " + slurm).out)["checks"].size(), 1U);
}

}  // namespace
}  // namespace muster
