#include "engine/failure/blame.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr NodeId kServer(1);
constexpr UserId kAnn(1);
constexpr UserId kBob(2);

Instant hour(std::int64_t n) { return Instant::at(Duration::seconds(3600 * n)); }

TEST(ServerBlame, DrainsAtTheSecondStrikeWithinADay) {
  ServerBlame blame(4, {});
  EXPECT_FALSE(blame.strike(hour(0), kServer, kAnn, Reason::kGpuEccError));
  EXPECT_FALSE(blame.strike(hour(1), NodeId(2), kAnn, Reason::kGpuEccError)) << "another server";
  EXPECT_FALSE(blame.drained(kServer, hour(1)));
  EXPECT_TRUE(blame.strike(hour(24), kServer, kAnn, Reason::kCudaInitFailed));
  EXPECT_EQ(blame.drained_until(kServer), hour(48));
  EXPECT_TRUE(blame.drained(kServer, hour(24)));
  EXPECT_FALSE(blame.drained(kServer, hour(48)));
  EXPECT_FALSE(blame.drained(NodeId(2), hour(24)));
}

TEST(ServerBlame, ForgetsWhatIsOlderThanTheWindow) {
  ServerBlame blame(2, {});
  EXPECT_FALSE(blame.strike(hour(0), kServer, kAnn, Reason::kGpuEccError));
  EXPECT_FALSE(blame.strike(hour(25), kServer, kAnn, Reason::kGpuEccError));
  EXPECT_TRUE(blame.strike(hour(26), kServer, kAnn, Reason::kGpuEccError));
}

TEST(ServerBlame, StartsAfreshAfterADrain) {
  ServerBlame blame(2, {.window = Duration::seconds(1'000'000), .drain = Duration::seconds(3600)});
  EXPECT_FALSE(blame.strike(hour(0), kServer, kAnn, Reason::kGpuEccError));
  EXPECT_TRUE(blame.strike(hour(1), kServer, kAnn, Reason::kGpuEccError));
  EXPECT_FALSE(blame.strike(hour(1), kServer, kAnn, Reason::kGpuEccError)) << "drained already";
  EXPECT_EQ(blame.drained_until(kServer), hour(2));
  EXPECT_FALSE(blame.strike(hour(3), kServer, kAnn, Reason::kGpuEccError)) << "the first again";
  EXPECT_TRUE(blame.strike(hour(4), kServer, kAnn, Reason::kGpuEccError));
}

TEST(ServerBlame, WantsTheWordOfTwoUsersForWhatAProgramMayHaveCaused) {
  ServerBlame blame(2, {});
  EXPECT_FALSE(blame.strike(hour(0), kServer, kAnn, Reason::kCoreDump));
  EXPECT_FALSE(blame.strike(hour(1), kServer, kAnn, Reason::kCoreDump)) << "Ann's program";
  EXPECT_FALSE(blame.strike(hour(2), kServer, kBob, Reason::kTraceback)) << "something else";
  EXPECT_FALSE(blame.strike(hour(3), kServer, kBob, Reason::kGpuEccError)) << "the first sure one";
  EXPECT_TRUE(blame.strike(hour(4), kServer, kBob, Reason::kCoreDump));
}

TEST(ServerBlame, BelievesASignatureThatPointsAtTheServer) {
  ServerBlame blame(2, {});
  EXPECT_FALSE(blame.strike(hour(0), kServer, kAnn, Reason::kIncorrectInputs));
  EXPECT_FALSE(blame.strike(hour(1), kServer, kAnn, Reason::kIncorrectInputs, Nature::kServer));
  EXPECT_TRUE(blame.strike(hour(2), kServer, kAnn, Reason::kCudaFailure, Nature::kServer));
  const Duration second = Duration::seconds(1);
  for (const UserId user : {kAnn, kBob}) {
    EXPECT_FALSE(blame.died(hour(50), NodeId(0), user, Reason::kNoSignature, second,
                            Nature::kDeterministic));
  }
}

TEST(ServerBlame, TakesAsManyStrikesAsItIsTold) {
  ServerBlame blame(2, {.strikes = 3});
  EXPECT_FALSE(blame.strike(hour(0), kServer, kAnn, Reason::kCoreDump));
  EXPECT_FALSE(blame.strike(hour(1), kServer, kBob, Reason::kCoreDump));
  EXPECT_TRUE(blame.strike(hour(2), kServer, kBob, Reason::kCoreDump));
}

TEST(ServerBlame, HoldsNoUserErrorsAgainstAServer) {
  ServerBlame blame(2, {});
  for (const ReasonInfo& info : reasons()) {
    if (info.nature == Nature::kServer || info.nature == Nature::kSuspect) continue;
    for (const UserId user : {kAnn, kBob, kAnn, kBob}) {
      EXPECT_FALSE(blame.strike(hour(1), kServer, user, info.reason)) << info.name;
    }
  }
}

Instant second(std::int64_t n) { return Instant::at(Duration::seconds(n)); }
constexpr Duration kShort = Duration::seconds(20);

TEST(ServerBlame, WhatLeftNoSignatureIsNotTheSameTwice) {
  ServerBlame blame(2, {});
  for (const UserId user : {kAnn, kBob, kAnn}) {
    EXPECT_FALSE(blame.strike(hour(1), kServer, user, Reason::kNoSignature));
  }
}

TEST(ServerBlame, DrainsWhereTwoUsersDieYoungOfWhatever) {
  ServerBlame blame(4, {.drain = Duration::max()});
  EXPECT_FALSE(blame.died(second(0), kServer, kAnn, Reason::kNoSignature, kShort));
  EXPECT_FALSE(blame.died(second(10), kServer, kAnn, Reason::kMpiError, kShort)) << "Ann again";
  EXPECT_FALSE(blame.died(second(20), NodeId(2), kBob, Reason::kCoreDump, kShort)) << "elsewhere";
  const std::optional<Charge> charge =
      blame.died(second(30), kServer, kBob, Reason::kCoreDump, kShort);
  ASSERT_TRUE(charge);
  EXPECT_TRUE(charge->young);
  EXPECT_EQ(charge->reason, Reason::kCoreDump);
  EXPECT_EQ(charge->failures, 3);
  EXPECT_EQ(charge->users, 2);
  EXPECT_EQ(charge->within, Duration::seconds(30));
  EXPECT_EQ(blame.drained_until(kServer), Instant::never());
  EXPECT_FALSE(blame.died(hour(9), kServer, kBob, Reason::kCoreDump, kShort)) << "drained already";
  blame.pardon(kServer);
  EXPECT_FALSE(blame.died(hour(9), kServer, kBob, Reason::kCoreDump, kShort)) << "begins anew";
  EXPECT_TRUE(blame.died(hour(9), kServer, kAnn, Reason::kCoreDump, kShort));
}

TEST(ServerBlame, YoungDeathsCountOnlyTogetherSoonAndIfTheProgramMayBeInnocent) {
  ServerBlame blame(2, {});
  const auto died = [&](std::int64_t at, UserId user, Reason reason, std::int64_t ran) {
    return blame.died(second(at), kServer, user, reason, Duration::seconds(ran)).has_value();
  };
  EXPECT_FALSE(died(0, kAnn, Reason::kNoSignature, 60));
  EXPECT_FALSE(died(601, kBob, Reason::kNoSignature, 60)) << "ten minutes later";
  EXPECT_FALSE(died(602, kAnn, Reason::kNoSignature, 61)) << "it lived long enough";
  EXPECT_FALSE(died(603, kAnn, Reason::kImportError, 1)) << "the program's fault for sure";
  EXPECT_FALSE(died(604, kAnn, Reason::kPreempted, 1));
  blame.succeeded(kServer);
  EXPECT_FALSE(died(605, kAnn, Reason::kNoSignature, 1)) << "a job has ended well in between";
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
  EXPECT_FALSE(blame.known_bad(kBob, kTrain)) << "names of other users mean nothing";
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
  EXPECT_FALSE(blame.known_bad(kAnn, kTrain)) << "the user is at work on it";
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
