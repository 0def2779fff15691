#include "engine/core/estimator.h"

#include <gtest/gtest.h>

#include <string>

#include "base/types/testing.h"

namespace muster {
namespace {

using Kind = EstimateSource::Kind;

JobSpec spec(std::uint32_t user, std::uint32_t name, std::int32_t gpus) {
  JobSpec result;
  result.user = UserId(user);
  result.name = NameId(name);
  result.gpus = gpus;
  return result;
}

Duration secs(std::int64_t seconds) { return Duration::seconds(seconds); }

TEST(EstimateSource, ReadsBackWhatItWrites) {
  for (const char* text :
       {"oracle", "user", "history", "progress", "noisy:0", "noisy:0.5", "noisy:10"}) {
    const Result<EstimateSource> source = parse_estimate_source(text);
    ASSERT_TRUE(source.ok()) << text;
    EXPECT_EQ(source.value().text(), text);
  }
  EXPECT_EQ(parse_estimate_source("noisy:0.25").value().sigma, 0.25);
}

TEST(EstimateSourceRefusal, SaysWhatIsWrong) {
  const auto refusal = [](const std::string& text) {
    return error_text(parse_estimate_source(text));
  };
  expect_texts(
      refusal,
      {
          {"oracel", "--estimates: unknown source 'oracel'; did you mean 'oracle'?"},
          {"",
           "--estimates: unknown source ''; one of: oracle, noisy:SIGMA, user, history, progress"},
          {"noisy:much", "--estimates noisy: not a number: 'much'"},
          {"noisy:-1", "--estimates noisy: sigma is not between 0 and 10: '-1'"},
          {"noisy:10.5", "--estimates noisy: sigma is not between 0 and 10: '10.5'"},
      });
}

TEST(Estimator, TakesTheNumberGivenUnlessItLearns) {
  JobSpec job = spec(1, 1, 1);
  job.estimate = secs(42);
  for (const Kind kind : {Kind::kOracle, Kind::kNoisy, Kind::kUser}) {
    Estimator estimator(kind);
    estimator.learn(job, secs(7));
    EXPECT_EQ(estimator.estimate(job), secs(42));
    EXPECT_EQ(estimator.estimate(spec(1, 1, 1)), Estimator::kDefaultEstimate);
  }
  for (const Kind kind : {Kind::kHistory, Kind::kProgress}) {
    Estimator estimator(kind);
    EXPECT_EQ(estimator.estimate(job), Estimator::kDefaultEstimate);
    estimator.learn(job, secs(7));
    EXPECT_EQ(estimator.estimate(job), secs(7));
  }
}

TEST(Estimator, PrefersTheNearestRelatives) {
  Estimator estimator(Kind::kHistory);
  estimator.learn(spec(/*user=*/1, /*name=*/1, /*gpus=*/1), secs(100));
  EXPECT_EQ(estimator.estimate(spec(9, 9, 9)), secs(100)) << "any job is better than none";
  estimator.learn(spec(2, 2, 4), secs(400));
  estimator.learn(spec(2, 2, 4), secs(400));
  EXPECT_EQ(estimator.estimate(spec(9, 9, 1)), secs(100)) << "of the same size";
  EXPECT_EQ(estimator.estimate(spec(9, 9, 9)), secs(400)) << "of all";
  estimator.learn(spec(1, 3, 4), secs(30));
  EXPECT_EQ(estimator.estimate(spec(1, 9, 4)), secs(30)) << "of the same user and size";
  EXPECT_EQ(estimator.estimate(spec(2, 3, 4)), secs(400)) << "names of other users do not count";
  estimator.learn(spec(1, 4, 4), secs(50));
  estimator.learn(spec(1, 4, 4), secs(50));
  EXPECT_EQ(estimator.estimate(spec(1, 3, 4)), secs(30)) << "of the same user, name and size";
  EXPECT_EQ(estimator.estimate(spec(1, 3, 2)), secs(100)) << "no such size: of all, not by name";
}

TEST(Estimator, BelievesTheMedianWhateverTheOutliers) {
  Estimator estimator(Kind::kHistory);
  for (const std::int64_t seconds : {1'000'000, 10, 30, 20, 2'000'000}) {
    estimator.learn(spec(1, 1, 1), secs(seconds));
  }
  EXPECT_EQ(estimator.estimate(spec(1, 1, 1)), secs(30));
}

TEST(Estimator, ForgetsRunTimesOlderThanTheLastThirtyOne) {
  Estimator estimator(Kind::kHistory);
  for (int i = 0; i < 31; ++i) estimator.learn(spec(1, 1, 1), secs(1000));
  for (int i = 0; i < 15; ++i) estimator.learn(spec(1, 1, 1), secs(5));
  EXPECT_EQ(estimator.estimate(spec(1, 1, 1)), secs(1000));
  estimator.learn(spec(1, 1, 1), secs(5));
  EXPECT_EQ(estimator.estimate(spec(1, 1, 1)), secs(5)) << "sixteen of the last thirty-one";
  for (int i = 0; i < 16; ++i) estimator.learn(spec(1, 1, 1), secs(7));
  EXPECT_EQ(estimator.estimate(spec(1, 1, 1)), secs(7)) << "all values are overwritten in turn";
}

TEST(Estimator, EstimatesOverdueJobsFromLongerJobs) {
  Estimator estimator(Kind::kHistory);
  EXPECT_EQ(estimator.remaining_after(spec(1, 1, 1), secs(40)), secs(40))
      << "no data: as long again";
  for (const std::int64_t seconds : {10, 20, 30, 100, 200, 400}) {
    estimator.learn(spec(1, 1, 1), secs(seconds));
  }
  EXPECT_EQ(estimator.remaining_after(spec(1, 1, 1), secs(40)), secs(160))
      << "200 of 100, 200, 400";
  EXPECT_EQ(estimator.remaining_after(spec(1, 1, 1), secs(200)), secs(200)) << "only 400 is longer";
  estimator.learn(spec(2, 2, 2), secs(1000));
  EXPECT_EQ(estimator.remaining_after(spec(1, 1, 1), secs(400)), secs(600))
      << "no similar job ran longer, but another one did";
  EXPECT_EQ(estimator.remaining_after(spec(1, 1, 1), secs(1000)), secs(1000));
  EXPECT_EQ(Estimator(Kind::kUser).remaining_after(spec(1, 1, 1), secs(7)), secs(7));
  EXPECT_EQ(Estimator(Kind::kUser).remaining_after(spec(1, 1, 1), Duration()), secs(1));
}

TEST(Estimator, NeverBelievesInNoWorkAtAll) {
  Estimator estimator(Kind::kHistory);
  estimator.learn(spec(1, 1, 1), Duration());
  EXPECT_EQ(estimator.estimate(spec(1, 1, 1)), secs(1));
}

}  // namespace
}  // namespace muster
