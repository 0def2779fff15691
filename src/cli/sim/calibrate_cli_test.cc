// `muster calibrate`: what it says of forecasts, and its exit status.

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "base/types/random.h"
#include "cli/common/testing.h"

namespace muster {
namespace {

class CalibrateCli : public ScratchTest {
 protected:
  // Users whose jobs take very different times; 16 GPUs are nearly full of them.
  std::string busy(int jobs) const {
    Random random(3);
    std::string text = "job_id,submit_s,gpus,duration_s,user\n";
    double at = 0;
    for (int i = 0; i < jobs; ++i) {
      at += random.exponential(330);
      const std::uint64_t user = random.below(6);
      const double typical = 400.0 * static_cast<double>(1 + user);
      text += std::to_string(i) + "," + std::to_string(std::lround(at)) + "," +
              std::to_string(1 << random.below(3)) + "," +
              std::to_string(std::lround(typical * portable_exp(0.8 * random.normal()))) + ",u" +
              std::to_string(user) + "\n";
    }
    return file("busy.csv", text);
  }
  std::string words(const std::string& trace) const {
    return "calibrate --cluster 4x4 --drives 3 --trace " + trace;
  }
};

TEST_F(CalibrateCli, SaysThatBandsHoldAsPromised) {
  const std::string trace = busy(400);
  const Output got = muster(words(trace));
  EXPECT_EQ(got.status, kExitDone) << got.out << got.err;
  const std::string first = got.out.substr(0, got.out.find('\n'));
  EXPECT_LT(first.size(), 120U);
  EXPECT_TRUE(first.starts_with("the 80% band contained ")) << first;
  EXPECT_TRUE(first.ends_with(" later): calibrated")) << first;
  EXPECT_TRUE(has(got.out, "\nstarted immediately ")) << got.out;

  const Output numbers = muster(words(trace) + " --json");
  EXPECT_EQ(numbers.status, kExitDone);
  const Json json = Json::parse(numbers.out);
  EXPECT_EQ(json["jobs"], 400);
  EXPECT_EQ(json["every"], 1);
  EXPECT_EQ(json["at_once"].get<int>() + json["asked"].get<int>(), 400);
  EXPECT_EQ(json["inside"].get<int>() + json["before"].get<int>() + json["after"].get<int>(),
            json["asked"].get<int>());
  EXPECT_NEAR(json["share"].get<double>(),
              json["inside"].get<double>() / json["asked"].get<double>(), 1e-6);
  EXPECT_EQ(json["as_promised"], true);
  EXPECT_TRUE(has(first, std::to_string(json["asked"].get<int>()) + " starts")) << first;
}

TEST_F(CalibrateCli, AsksAboutOneInSoMany) {
  const std::string trace = busy(200);
  const auto asked = [&](const std::string& more) {
    return Json::parse(muster(words(trace) + " --json" + more).out)["asked"].get<int>();
  };
  const int all = asked("");
  EXPECT_GT(all, 20);
  EXPECT_EQ(asked(" --every 10"), (all + 9) / 10);
}

TEST_F(CalibrateCli, IsNotContentWithTooManyEither) {
  // Two waits that are easy to predict: all are within their bands, which is not 80%.
  std::string text = "job_id,submit_s,gpus,duration_s\n";
  for (int i = 0; i < 20; ++i)
    text += std::to_string(i) + "," + std::to_string(i * 200) + ",4,100\n";
  text += "20,4000,4,100\n21,4000,4,100\n22,4000,4,100\n";
  const Output got = muster("calibrate --cluster 1x4 --trace " + file("jobs.csv", text));
  EXPECT_EQ(got.status, kExitFailed) << got.out << got.err;
  EXPECT_TRUE(has(got.out, "contained 100.0% of 2 starts")) << got.out;
  EXPECT_TRUE(has(got.out, ": not calibrated\n")) << got.out;
}

TEST_F(CalibrateCli, JudgesNothingWhereNobodyWaits) {
  const std::string trace =
      file("jobs.csv", "job_id,submit_s,gpus,duration_s\n1,0,3,50\n2,9,1,5\n");
  const Output got = muster("calibrate --cluster 1x4 --trace " + trace);
  EXPECT_EQ(got.status, kExitDone) << got.err;
  EXPECT_EQ(got.out, "no job had to wait: no forecasts to check\n");
  const Output numbers = muster("calibrate --cluster 1x4 --json --trace " + trace);
  EXPECT_EQ(numbers.status, kExitDone);
  EXPECT_TRUE(Json::parse(numbers.out)["share"].is_null()) << numbers.out;
}

TEST_F(CalibrateCli, RefusesWhatMakesNoSense) {
  const std::string trace = file("jobs.csv", "job_id,submit_s,gpus,duration_s\n1,0,3,50\n");
  const std::string begin = "calibrate --trace " + trace;
  expect_refused(muster("calibrate --cluster 4x4"), "--trace");
  expect_refused(muster("calibrate --trace " + path("none.csv")), "none.csv");
  expect_refusals(begin, {
                             {" --policy fifi", "unknown policy 'fifi'; did you mean 'fifo'?"},
                             {" --cluster 4by4", "4by4"},
                             {" --cluster ", "--cluster: must not be empty"},
                             {" --every 0", "--every"},
                             {" --every -3", "--every"},
                             {" --drives 0", "--drives"},
                         });
}

}  // namespace
}  // namespace muster
