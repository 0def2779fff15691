#include "engine/failure/input_blame.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr UserId kAnn(1);
constexpr UserId kBob(2);

constexpr NameId kTrain(5);

TEST(InputBlame, KnowsAnInputThatFailedTwice) {
  InputBlame blame;
  EXPECT_FALSE(blame.known_bad(kAnn, kTrain));
  blame.failed(kAnn, kTrain, JobId(1), Reason::kIncorrectInputs);
  blame.failed(kAnn, kTrain, JobId(1), Reason::kIncorrectInputs);
  EXPECT_FALSE(blame.known_bad(kAnn, kTrain)) << "two attempts of one job";
  blame.failed(kAnn, kTrain, JobId(2), Reason::kIncorrectInputs);
  EXPECT_TRUE(blame.known_bad(kAnn, kTrain));
  EXPECT_FALSE(blame.known_bad(kBob, kTrain)) << "names of other users do not count";
  EXPECT_FALSE(blame.known_bad(kAnn, NameId(6)));
}

TEST(InputBlame, CountsEachJobOnceHoweverManyThereAre) {
  InputBlame blame(3);
  for (const int job : {1, 2, 2, 2}) blame.failed(kAnn, kTrain, JobId(job), Reason::kImportError);
  EXPECT_FALSE(blame.known_bad(kAnn, kTrain));
  blame.failed(kAnn, kTrain, JobId(3), Reason::kImportError);
  EXPECT_TRUE(blame.known_bad(kAnn, kTrain));
}

TEST(InputBlame, ForgivesAnInputThatSucceeds) {
  InputBlame blame(1);
  blame.failed(kAnn, kTrain, JobId(1), Reason::kSyntaxError);
  blame.failed(kBob, kTrain, JobId(2), Reason::kSyntaxError);
  blame.succeeded(kAnn, kTrain);
  blame.succeeded(kAnn, NameId(6));
  EXPECT_FALSE(blame.known_bad(kAnn, kTrain));
  EXPECT_TRUE(blame.known_bad(kBob, kTrain));
}

TEST(InputBlame, StartsCountingAgainAtAnotherFault) {
  InputBlame blame;
  blame.failed(kAnn, kTrain, JobId(1), Reason::kSyntaxError);
  blame.failed(kAnn, kTrain, JobId(2), Reason::kImportError);
  EXPECT_FALSE(blame.known_bad(kAnn, kTrain)) << "the user is working on it";
  blame.failed(kAnn, kTrain, JobId(3), Reason::kImportError);
  EXPECT_TRUE(blame.known_bad(kAnn, kTrain));
}

TEST(InputBlame, KeepsManyApart) {
  InputBlame blame;
  for (std::uint32_t i = 0; i < 400; ++i) {
    const std::uint32_t k = i * 37 % 400;  // Not in the order of the ids.
    for (std::uint32_t job = 0; job < 1 + k % 2; ++job) {
      blame.failed(UserId(k / 20), NameId(k % 20), JobId(2 * k + job), Reason::kImportError);
    }
  }
  for (std::uint32_t k = 0; k < 400; ++k) {
    EXPECT_EQ(blame.known_bad(UserId(k / 20), NameId(k % 20)), k % 2 == 1) << k;
  }
}

}  // namespace
}  // namespace muster
