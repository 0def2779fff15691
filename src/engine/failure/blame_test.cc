#include "engine/failure/blame.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr NodeId kNode(1);
constexpr UserId kAnn(1);
constexpr UserId kBob(2);

Instant hour(std::int64_t n) { return Instant::at(Duration::seconds(3600 * n)); }

TEST(NodeBlame, DrainsAtTheSecondStrikeWithinADay) {
  NodeBlame blame(4, {});
  EXPECT_FALSE(blame.strike(hour(0), kNode, kAnn, Reason::kGpuEccError));
  EXPECT_FALSE(blame.strike(hour(1), NodeId(2), kAnn, Reason::kGpuEccError)) << "another node";
  EXPECT_FALSE(blame.drained(kNode, hour(1)));
  EXPECT_TRUE(blame.strike(hour(24), kNode, kAnn, Reason::kCudaInitFailed));
  EXPECT_EQ(blame.drained_until(kNode), hour(48));
  EXPECT_TRUE(blame.drained(kNode, hour(24)));
  EXPECT_FALSE(blame.drained(kNode, hour(48)));
  EXPECT_FALSE(blame.drained(NodeId(2), hour(24)));
}

TEST(NodeBlame, ForgetsWhatIsOlderThanTheWindow) {
  NodeBlame blame(2, {});
  EXPECT_FALSE(blame.strike(hour(0), kNode, kAnn, Reason::kGpuEccError));
  EXPECT_FALSE(blame.strike(hour(25), kNode, kAnn, Reason::kGpuEccError));
  EXPECT_TRUE(blame.strike(hour(26), kNode, kAnn, Reason::kGpuEccError));
}

TEST(NodeBlame, StartsAfreshAfterADrain) {
  NodeBlame blame(2, {.window = Duration::seconds(1'000'000), .drain = Duration::seconds(3600)});
  EXPECT_FALSE(blame.strike(hour(0), kNode, kAnn, Reason::kGpuEccError));
  EXPECT_TRUE(blame.strike(hour(1), kNode, kAnn, Reason::kGpuEccError));
  EXPECT_FALSE(blame.strike(hour(1), kNode, kAnn, Reason::kGpuEccError)) << "drained already";
  EXPECT_EQ(blame.drained_until(kNode), hour(2));
  EXPECT_FALSE(blame.strike(hour(3), kNode, kAnn, Reason::kGpuEccError)) << "the first again";
  EXPECT_TRUE(blame.strike(hour(4), kNode, kAnn, Reason::kGpuEccError));
}

TEST(NodeBlame, WantsTheWordOfTwoUsersForWhatAProgramMayHaveCaused) {
  NodeBlame blame(2, {});
  EXPECT_FALSE(blame.strike(hour(0), kNode, kAnn, Reason::kCoreDump));
  EXPECT_FALSE(blame.strike(hour(1), kNode, kAnn, Reason::kCoreDump)) << "Ann's program";
  EXPECT_FALSE(blame.strike(hour(2), kNode, kBob, Reason::kTraceback)) << "something else";
  EXPECT_FALSE(blame.strike(hour(3), kNode, kBob, Reason::kGpuEccError)) << "the first sure one";
  EXPECT_TRUE(blame.strike(hour(4), kNode, kBob, Reason::kCoreDump));
}

TEST(NodeBlame, BelievesASignatureThatPointsAtTheServer) {
  NodeBlame blame(2, {});
  EXPECT_FALSE(blame.strike(hour(0), kNode, kAnn, Reason::kIncorrectInputs));
  EXPECT_FALSE(blame.strike(hour(1), kNode, kAnn, Reason::kIncorrectInputs, RetryClass::kNode));
  EXPECT_TRUE(blame.strike(hour(2), kNode, kAnn, Reason::kCudaFailure, RetryClass::kNode));
  const Duration second = Duration::seconds(1);
  for (const UserId user : {kAnn, kBob}) {
    EXPECT_FALSE(blame.died(hour(50), NodeId(0), user, Reason::kNoSignature, second,
                            RetryClass::kDeterministic));
  }
}

TEST(NodeBlame, TakesAsManyStrikesAsItIsTold) {
  NodeBlame blame(2, {.strikes = 3});
  EXPECT_FALSE(blame.strike(hour(0), kNode, kAnn, Reason::kCoreDump));
  EXPECT_FALSE(blame.strike(hour(1), kNode, kBob, Reason::kCoreDump));
  EXPECT_TRUE(blame.strike(hour(2), kNode, kBob, Reason::kCoreDump));
}

TEST(NodeBlame, HoldsNoUserErrorsAgainstAServer) {
  NodeBlame blame(2, {});
  for (const ReasonInfo& info : reasons()) {
    if (info.nature == RetryClass::kNode || info.nature == RetryClass::kSuspect) continue;
    for (const UserId user : {kAnn, kBob, kAnn, kBob}) {
      EXPECT_FALSE(blame.strike(hour(1), kNode, user, info.reason)) << info.name;
    }
  }
}

Instant second(std::int64_t n) { return Instant::at(Duration::seconds(n)); }
constexpr Duration kShort = Duration::seconds(20);

TEST(NodeBlame, WhatLeftNoSignatureIsNotTheSameTwice) {
  NodeBlame blame(2, {});
  for (const UserId user : {kAnn, kBob, kAnn}) {
    EXPECT_FALSE(blame.strike(hour(1), kNode, user, Reason::kNoSignature));
  }
}

TEST(NodeBlame, DrainsWhereTwoUsersDieYoungOfWhatever) {
  NodeBlame blame(4, {.drain = Duration::max()});
  EXPECT_FALSE(blame.died(second(0), kNode, kAnn, Reason::kNoSignature, kShort));
  EXPECT_FALSE(blame.died(second(10), kNode, kAnn, Reason::kMpiError, kShort)) << "Ann again";
  EXPECT_FALSE(blame.died(second(20), NodeId(2), kBob, Reason::kCoreDump, kShort)) << "elsewhere";
  const std::optional<Charge> charge =
      blame.died(second(30), kNode, kBob, Reason::kCoreDump, kShort);
  ASSERT_TRUE(charge);
  EXPECT_TRUE(charge->young);
  EXPECT_EQ(charge->reason, Reason::kCoreDump);
  EXPECT_EQ(charge->failures, 3);
  EXPECT_EQ(charge->users, 2);
  EXPECT_EQ(charge->within, Duration::seconds(30));
  EXPECT_EQ(blame.drained_until(kNode), Instant::never());
  EXPECT_FALSE(blame.died(hour(9), kNode, kBob, Reason::kCoreDump, kShort)) << "drained already";
  blame.pardon(kNode);
  EXPECT_FALSE(blame.died(hour(9), kNode, kBob, Reason::kCoreDump, kShort))
      << "the count starts again";
  EXPECT_TRUE(blame.died(hour(9), kNode, kAnn, Reason::kCoreDump, kShort));
}

TEST(NodeBlame, YoungDeathsCountOnlyTogetherSoonAndIfTheProgramMayBeInnocent) {
  NodeBlame blame(2, {});
  const auto died = [&](std::int64_t at, UserId user, Reason reason, std::int64_t ran) {
    return blame.died(second(at), kNode, user, reason, Duration::seconds(ran)).has_value();
  };
  EXPECT_FALSE(died(0, kAnn, Reason::kNoSignature, 60));
  EXPECT_FALSE(died(601, kBob, Reason::kNoSignature, 60)) << "ten minutes later";
  EXPECT_FALSE(died(602, kAnn, Reason::kNoSignature, 61)) << "it ran long enough";
  EXPECT_FALSE(died(603, kAnn, Reason::kImportError, 1)) << "certainly the fault of the program";
  EXPECT_FALSE(died(604, kAnn, Reason::kPreempted, 1));
  blame.succeeded(kNode);
  EXPECT_FALSE(died(605, kAnn, Reason::kNoSignature, 1)) << "a job has succeeded in between";
  EXPECT_TRUE(died(606, kBob, Reason::kMpiError, 0));
}

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
