#include "engine/failure/reasons.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace muster {
namespace {

TEST(Reasons, AreInTheOrderOfTheirIds) {
  ASSERT_EQ(reasons().size(), kReasonCount);
  for (std::size_t row = 0; row < kReasonCount; ++row) {
    EXPECT_EQ(reasons()[row].reason, static_cast<Reason>(row));
    EXPECT_EQ(&info_of(static_cast<Reason>(row)), &reasons()[row]);
  }
  EXPECT_EQ(info_of(Reason::kNoSignature).name, "No signature");
}

TEST(Reasons, HaveWordsForSentences) {
  EXPECT_EQ(words_of(Reason::kCoreDump), "core dump");
  EXPECT_EQ(words_of(Reason::kGpuOutOfMemory), "GPU out of memory");
  EXPECT_EQ(words_of(Reason::kGpuEccError), "GPU ECC error");
  EXPECT_EQ(words_of(Reason::kNoSignature), "unknown cause");
}

TEST(Reasons, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  std::set<std::string_view> keys;
  for (const ReasonInfo& info : reasons()) {
    names.insert(info.name);
    keys.insert(info.key);
    EXPECT_EQ(info.key.find_first_not_of("abcdefghijklmnopqrstuvwxyz-"), info.key.npos);
    EXPECT_EQ(find_reason(info.key), info.reason);
  }
  EXPECT_EQ(names.size(), kReasonCount);
  EXPECT_EQ(keys.size(), kReasonCount);
  EXPECT_EQ(find_reason("cuda-failur"), std::nullopt);
}

TEST(Reasons, AddUpToTheTotalsOfTheStudy) {
  std::int32_t trials = 0;
  std::int32_t deterministic = 0;
  std::int32_t deterministic_jobs = 0;
  std::int32_t top_eight = 0;
  std::int32_t top_eight_jobs = 0;
  std::array<std::int32_t, kSizeClassCount> by_size = {};
  for (const ReasonInfo& info : reasons()) {
    const auto& [one, few, many] = info.trials_by_size;
    EXPECT_EQ(one + few + many, info.trials) << info.name;
    EXPECT_LE(info.jobs, info.trials) << info.name;
    EXPECT_GT(info.p50, 0) << info.name;
    EXPECT_LE(info.p50, info.p90) << info.name;
    EXPECT_LE(info.p90, info.p95) << info.name;
    trials += info.trials;
    for (std::size_t size = 0; size < kSizeClassCount; ++size) {
      by_size[size] += info.trials_by_size[size];
    }
    if (info.deterministic()) {
      deterministic += info.trials;
      deterministic_jobs += info.jobs;
    }
    if (static_cast<int>(info.reason) < 8) {
      top_eight += info.trials;
      top_eight_jobs += info.jobs;
    }
  }
  EXPECT_EQ(trials, 39'776);
  EXPECT_EQ(by_size, (std::array<std::int32_t, 3>{26'029, 7'598, 6'149}));
  EXPECT_EQ(deterministic, 26'912) << "67.7%: failures that no retry can fix";
  EXPECT_EQ(deterministic - deterministic_jobs, 15'598) << "unnecessary attempts";
  EXPECT_NEAR(1.0 * top_eight / top_eight_jobs, 2.3, 0.05) << "failures per job in the study";
}

TEST(Reasons, ShowOnOneGpuUnlessFewOfTheirTrialsDidOrTheyAreAboutPeers) {
  for (const ReasonInfo& info : reasons()) {
    const bool about_peers =
        info.reason == Reason::kMpiError || info.reason == Reason::kMpiRuntimeFailure;
    const double on_several = 1 - 1.0 * info.trials_by_size[0] / info.trials;
    EXPECT_EQ(info.size_dependent, about_peers || on_several >= 0.85) << info.name;
  }
}

TEST(Reasons, PointAtTheServerOnlyWhereTheGpuItselfIsMeant) {
  for (const ReasonInfo& info : reasons()) {
    const bool gpu = info.reason == Reason::kGpuEccError || info.reason == Reason::kCudaInitFailed;
    EXPECT_EQ(info.points_at_node(), gpu) << info.name;
    EXPECT_EQ(info.nature == RetryClass::kScheduler, info.reason == Reason::kPreempted)
        << info.name;
  }
}

TEST(Reasons, AreCountedAsTheUsersWhereTheUserCanMendThem) {
  EXPECT_EQ(info_of(Reason::kCpuOutOfMemory).bucket(), Bucket::kUser);
  EXPECT_EQ(info_of(Reason::kIncorrectInputs).bucket(), Bucket::kUser);
  EXPECT_EQ(info_of(Reason::kSyntaxError).bucket(), Bucket::kUser);
  EXPECT_EQ(info_of(Reason::kCudaFailure).bucket(), Bucket::kEngine);
  EXPECT_EQ(info_of(Reason::kGpuEccError).bucket(), Bucket::kInfrastructure);
  EXPECT_EQ(info_of(Reason::kNoSignature).bucket(), Bucket::kUnknown);
  EXPECT_EQ(name_of(Bucket::kUser), "user");
  EXPECT_EQ(name_of(Bucket::kUnknown), "unknown");
}

TEST(SizeClass, HasTheBoundsOfTheStudy) {
  EXPECT_EQ(size_class(1), SizeClass::kOne);
  EXPECT_EQ(size_class(2), SizeClass::kTwoToFour);
  EXPECT_EQ(size_class(4), SizeClass::kTwoToFour);
  EXPECT_EQ(size_class(5), SizeClass::kMore);
  EXPECT_EQ(size_class(128), SizeClass::kMore);
}

}  // namespace
}  // namespace muster
