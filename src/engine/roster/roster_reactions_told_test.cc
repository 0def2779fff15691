// Signatures of failures determine the reaction of the roster and the text that users see.

#include <gtest/gtest.h>

#include "engine/roster/reactions_testing.h"

namespace muster {
namespace {

using live_testing::adaptive;
using live_testing::Counter;
using live_testing::member;
using live_testing::submit;

// A signature found in a log, as the doctor tells it.
FailureEvidence told(Reaction reaction, Bucket bucket, const char* advice = "") {
  return {"some-signature", "a line", 7, advice, SignatureReaction{reaction, bucket}};
}

TEST(Reactions, WhatASignatureSaysIsDone) {
  const struct {
    const char* reason;
    FailureEvidence proof;
    const char* state;  // "unknown": it has ended.
    std::int64_t wait;
  } rows[] = {
      {"incorrect-inputs", told(Reaction::kBackOff, Bucket::kInfrastructure), "retrying", 60},
      {"checkpoint-error", told(Reaction::kStop, Bucket::kUser), "unknown", 0},
      {"mpi-runtime-failure", told(Reaction::kRetry, Bucket::kInfrastructure), "running", 0},
      {"no-signature", told(Reaction::kStop, Bucket::kUnknown), "unknown", 0},
      {"permission-error", told(Reaction::kBackOff, Bucket::kUser), "retrying", 60},
  };
  for (const auto& row : rows) {
    Counter desk(adaptive("1x1"));
    desk.at(1, {submit(1)});
    desk.fails_at(5, 1, row.reason, row.proof);
    EXPECT_EQ(desk.state(1), row.state) << row.reason;
    if (row.wait == 0) continue;
    desk.tick(5 + row.wait);
    EXPECT_EQ(desk.state(1), "running") << row.reason;
  }
  Counter desk(adaptive("2x1"));
  desk.at(1, {submit(1)});
  desk.fails_at(5, 1, "incorrect-inputs", told(Reaction::kRetryElsewhere, Bucket::kInfrastructure));
  EXPECT_EQ(desk.where(1), "s1:0");
}

TEST(Reactions, ARetryIsToldInTheSignaturesOwnWords) {
  Counter desk(adaptive("1x1"));
  desk.at(1, {submit(1)});
  desk.fails_at(5, 1, "mpi-runtime-failure", told(Reaction::kRetry, Bucket::kInfrastructure),
                "a port that the job listens on was taken");
  EXPECT_EQ(desk.heard["failed-attempt"], "a port that the job listens on was taken");
  EXPECT_EQ(desk.heard["retried"],
            "MPI runtime failure on attempt 1; retried: a port that the job listens on was taken");
  for (int i = 0; i < 3; ++i) {
    desk.fails_at(6 + i, 1, "mpi-runtime-failure", told(Reaction::kRetry, Bucket::kInfrastructure),
                  "a port was taken");
  }
  EXPECT_EQ(
      desk.heard["failed"],
      "a port was taken: MPI runtime failure on attempt 4; not retried: still failing after 3 "
      "retries");
}

TEST(Reactions, TheFirstLineOfAnEndIsShortAndSaysWhatIsDone) {
  const std::string says(119, 'x');
  for (const std::string& each : {says, says.substr(0, 100), says.substr(0, 70)}) {
    Counter desk(adaptive("1x1"));
    desk.at(1, {submit(1)});
    desk.fails_at(5, 1, "incorrect-inputs", told(Reaction::kStop, Bucket::kUser), each.c_str());
    EXPECT_LT(desk.heard["failed"].size(), 120U);
    EXPECT_NE(desk.heard["failed"].find("not retried"), std::string::npos) << desk.heard["failed"];
  }
}

TEST(Reactions, SiblingsAreHeldOnlyForWhatIsTheirUsersFault) {
  for (const Bucket bucket : {Bucket::kUser, Bucket::kInfrastructure, Bucket::kEngine}) {
    Counter desk(adaptive("1x1"));
    std::vector<Input> all = {submit(50)};
    for (LiveId id = 1; id <= 9; ++id) all.push_back(member(id, 1));
    desk.at(1, all);
    desk.ends_at(2, 50, LeaseResult::kFinished);
    desk.ends_at(2, 1, LeaseResult::kFinished);
    for (LiveId id = 2; id <= 5; ++id) {
      desk.fails_at(3, id, "incorrect-inputs", told(Reaction::kStop, bucket));
    }
    EXPECT_EQ(desk.heard.contains("siblings-held"), bucket == Bucket::kUser);
  }
}

TEST(Reactions, AKillByTheLimitOfMemoryNamesTheLimit) {
  Counter desk(adaptive("1x4"));
  desk.at(1, {submit(1)});
  FailureEvidence proof = told(Reaction::kStop, Bucket::kUser);
  proof.signature = "scheduler-oom-kill";
  desk.fails_at(5, 1, "cpu-out-of-memory", proof);
  EXPECT_EQ(desk.heard["failed-attempt"],
            "the job exceeded its memory limit of 62.5 GiB (share of 1 of 4 GPUs)");
  ASSERT_EQ(desk.heard["failed"].rfind(desk.heard["failed-attempt"], 0), 0U);
}

}  // namespace
}  // namespace muster
