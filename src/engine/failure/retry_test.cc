#include "engine/failure/retry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/types/testing.h"
#include "engine/failure/testing.h"

namespace muster {
namespace {

using Next = Verdict::Next;
using Blames = Verdict::Blames;
using testing_failures::Life;
using testing_failures::live;
using testing_failures::philly_like;
using testing_failures::Sample;

FailedAttempt failed(Reason reason, const std::vector<int>& nodes = {}) {
  FailedAttempt attempt{reason, {}};
  for (const int node : nodes) attempt.nodes.emplace_back(node);
  return attempt;
}

TEST(RetryPolicy, ReadsBackWhatItWrites) {
  for (const char* text : {"none", "fixed:1", "fixed:3", "fixed:100", "adaptive"}) {
    const Result<RetryPolicy> policy = parse_retry_policy(text);
    ASSERT_TRUE(policy.ok()) << text;
    EXPECT_EQ(policy.value().text(), text);
  }
}

TEST(RetryPolicyRefusal, SaysWhatIsWrong) {
  const auto refusal = [](const std::string& text) { return error_text(parse_retry_policy(text)); };
  expect_texts(refusal,
               {
                   {"adaptve", "--retry: unknown policy 'adaptve'; did you mean 'adaptive'?"},
                   {"", "--retry: unknown policy ''; one of: none, fixed:N, adaptive"},
                   {"fixed", "--retry: unknown policy 'fixed'; one of: none, fixed:N, adaptive"},
                   {"fixed:many", "--retry fixed: not a whole number: 'many'"},
                   {"fixed:0", "--retry fixed: not between 1 and 100: '0'"},
                   {"fixed:101", "--retry fixed: not between 1 and 100: '101'"},
               });
}

struct FirstFailure {
  Reason reason;
  Next next;
  Blames blames;
  int wait;  // Seconds.
};
constexpr Next kStop = Next::kStop;
constexpr Next kRetry = Next::kRetry;
constexpr Next kElsewhere = Next::kRetryElsewhere;
constexpr FirstFailure kFirstFailures[] = {
    {Reason::kCpuOutOfMemory, kStop, Blames::kUser, 0},
    {Reason::kIncorrectInputs, kStop, Blames::kUser, 0},
    {Reason::kSemanticError, kStop, Blames::kUser, 0},
    {Reason::kCoreDump, kElsewhere, Blames::kNode, 0},
    {Reason::kInvalidMemoryAccess, kElsewhere, Blames::kNode, 0},
    {Reason::kCheckpointError, kRetry, Blames::kNobody, 60},
    {Reason::kCudaFailure, kElsewhere, Blames::kNode, 0},
    {Reason::kSyntaxError, kStop, Blames::kUser, 0},
    {Reason::kTraceback, kElsewhere, Blames::kNode, 0},
    {Reason::kMpiError, kRetry, Blames::kNobody, 60},
    {Reason::kGpuOutOfMemory, kStop, Blames::kUser, 0},
    {Reason::kMpiRuntimeFailure, kRetry, Blames::kNobody, 60},
    {Reason::kPermissionError, kStop, Blames::kUser, 0},
    {Reason::kImportError, kStop, Blames::kUser, 0},
    {Reason::kPreempted, kRetry, Blames::kNobody, 0},
    {Reason::kCudaInitFailed, kElsewhere, Blames::kNode, 0},
    {Reason::kModelDiverged, kStop, Blames::kUser, 0},
    {Reason::kCudaVersionMismatch, kStop, Blames::kUser, 0},
    {Reason::kGpuEccError, kElsewhere, Blames::kNode, 0},
    {Reason::kOutputNodeError, kStop, Blames::kUser, 0},
    {Reason::kCannotLoadLibraries, kStop, Blames::kUser, 0},
    {Reason::kNoSignature, kElsewhere, Blames::kNode, 0},
};

TEST(Adaptive, GoesByTheReason) {
  ASSERT_EQ(std::size(kFirstFailures), kReasonCount);
  for (const FirstFailure& row : kFirstFailures) {
    const Verdict verdict = RetryPolicy::adaptive().decide(failed(row.reason, {1}), {});
    EXPECT_EQ(verdict.next, row.next) << info_of(row.reason).name;
    EXPECT_EQ(verdict.wait, Duration::seconds(row.wait)) << info_of(row.reason).name;
    EXPECT_EQ(verdict.blames, row.blames) << info_of(row.reason).name;
    EXPECT_FALSE(verdict.why.empty()) << info_of(row.reason).name;
  }
}

TEST(Adaptive, TriesASuspectOnceMore) {
  const RetryPolicy policy = RetryPolicy::adaptive();
  const std::vector<FailedAttempt> once = {failed(Reason::kCoreDump, {1, 2})};
  const Verdict elsewhere = policy.decide(failed(Reason::kCoreDump, {3, 4}), once);
  EXPECT_EQ(elsewhere.next, kStop);
  EXPECT_EQ(elsewhere.blames, Blames::kUser) << "not the nodes, because none is the same";
  const Verdict overlapping = policy.decide(failed(Reason::kCoreDump, {2, 3}), once);
  EXPECT_EQ(overlapping.next, kStop);
  EXPECT_EQ(overlapping.blames, Blames::kNobody) << "node 2 may be the cause";
  const Verdict unknown = policy.decide(failed(Reason::kCoreDump), once);
  EXPECT_EQ(unknown.blames, Blames::kNobody) << "the nodes are unknown";
  const Verdict other = policy.decide(failed(Reason::kTraceback, {3}), once);
  EXPECT_EQ(other.next, kStop);
  EXPECT_EQ(other.blames, Blames::kNobody) << "not the same fault";
  const Verdict bad = policy.decide(failed(Reason::kCoreDump, {1}), {}, /*known_bad=*/true);
  EXPECT_EQ(bad.next, kStop);
}

TEST(Adaptive, WaitsLongerEachTimeForWhatPasses) {
  const RetryPolicy policy = RetryPolicy::adaptive();
  std::vector<FailedAttempt> earlier;
  for (const int seconds : {60, 120, 240}) {
    // Failures of other classes do not lengthen the wait.
    earlier.push_back(failed(Reason::kPreempted, {1}));
    earlier.push_back(failed(Reason::kGpuEccError, {1}));
    const FailedAttempt now = failed(Reason::kCheckpointError, {seconds});
    const Verdict verdict = policy.decide(now, earlier, /*known_bad=*/true);
    EXPECT_EQ(verdict.next, kRetry) << "also on other nodes, which share the storage";
    EXPECT_EQ(verdict.wait, Duration::seconds(seconds));
    earlier.push_back(now);
  }
  const Verdict last = policy.decide(failed(Reason::kMpiError), earlier);
  EXPECT_EQ(last.next, kStop);
  EXPECT_EQ(last.why, "still failing after 3 retries");
}

FailedAttempt told(Reason reason, Reaction reaction, Bucket bucket, int node = 1) {
  FailedAttempt attempt = failed(reason, {node});
  attempt.told = SignatureReaction{reaction, bucket};
  return attempt;
}

// Reasons are coarse: `[Errno 116]` and a missing file are both incorrect inputs.
TEST(Adaptive, DoesWhatTheSignatureSays) {
  const RetryPolicy policy = RetryPolicy::adaptive();
  for (const ReasonInfo& info : reasons()) {
    for (std::size_t i = 0; i < kReactionCount; ++i) {
      const auto reaction = static_cast<Reaction>(i);
      const Verdict verdict = policy.decide(told(info.reason, reaction, Bucket::kUser), {});
      const Next next = reaction == Reaction::kStop             ? kStop
                        : reaction == Reaction::kRetryElsewhere ? kElsewhere
                                                                : kRetry;
      EXPECT_EQ(verdict.next, next) << info.name << " " << key_of(reaction);
      EXPECT_EQ(verdict.wait, Duration::seconds(reaction == Reaction::kBackOff ? 60 : 0))
          << info.name << " " << key_of(reaction);
    }
    const auto usual = told(info.reason, reaction_to(info.reason), info.bucket());
    EXPECT_EQ(policy.decide(usual, {}).next, policy.decide(failed(info.reason, {1}), {}).next);
  }
}

TEST(Adaptive, BlamesTheUserOnlyForWhatASignatureLaysAtTheUsersDoor) {
  const RetryPolicy policy = RetryPolicy::adaptive();
  const auto blames = [&](Bucket bucket) {
    return policy.decide(told(Reason::kIncorrectInputs, Reaction::kStop, bucket), {}).blames;
  };
  EXPECT_EQ(blames(Bucket::kUser), Blames::kUser);
  EXPECT_EQ(blames(Bucket::kInfrastructure), Blames::kNobody);
  EXPECT_EQ(blames(Bucket::kUnknown), Blames::kNobody);
  const Verdict quota =
      policy.decide(told(Reason::kCheckpointError, Reaction::kStop, Bucket::kUser), {});
  EXPECT_EQ(quota.why, "a retry would not help") << "storage in general may recover";
}

TEST(Adaptive, ASignatureThatPassesIsTriedThreeTimes) {
  const RetryPolicy policy = RetryPolicy::adaptive();
  for (const Reaction reaction : {Reaction::kRetry, Reaction::kBackOff}) {
    for (const Reason reason : {Reason::kIncorrectInputs, Reason::kPreempted}) {
      const FailedAttempt now = told(reason, reaction, Bucket::kInfrastructure);
      std::vector<FailedAttempt> earlier;
      while (policy.decide(now, earlier).again()) earlier.push_back(now);
      EXPECT_EQ(earlier.size(), RetryPolicy::kMaxRetries) << key_of(reaction);
      EXPECT_TRUE(policy.decide(now, {}).why.empty()) << "the message of the signature is enough";
    }
  }
}

TEST(Adaptive, OfTheServerIsWhatASignatureSaysIs) {
  const RetryPolicy policy = RetryPolicy::adaptive();
  const auto disk = [](int node) {
    return told(Reason::kIncorrectInputs, Reaction::kRetryElsewhere, Bucket::kInfrastructure, node);
  };
  EXPECT_EQ(policy.decide(disk(1), {}).blames, Blames::kNode);
  const std::vector<FailedAttempt> once = {disk(1)};
  EXPECT_EQ(policy.decide(disk(1), once).next, kElsewhere);
  EXPECT_EQ(policy.decide(disk(2), once).why, "it failed the same way on other nodes");
}

// With one node, or after a different fault on the other node, the message must not say that
// another node did not help.
TEST(Adaptive, SaysWhereItFailed) {
  const RetryPolicy policy = RetryPolicy::adaptive();
  const auto why = [&](Reason reason, const std::vector<int>& first, const std::vector<int>& then) {
    const std::vector<FailedAttempt> once = {failed(Reason::kCoreDump, first)};
    return policy.decide(failed(reason, then), once).why;
  };
  EXPECT_EQ(why(Reason::kCoreDump, {1}, {1}), "it failed again on the same node");
  EXPECT_EQ(why(Reason::kCoreDump, {1}, {2}), "it failed the same way on other nodes");
  EXPECT_EQ(why(Reason::kTraceback, {1}, {2}), "it also failed on another node");
  EXPECT_EQ(why(Reason::kCoreDump, {1, 2}, {2, 3}), "it failed again on one of the same nodes");
  EXPECT_EQ(why(Reason::kCoreDump, {}, {2}), "it failed again");
}

TEST(Adaptive, SaysOnHowManyServersItFailed) {
  const RetryPolicy policy = RetryPolicy::adaptive();
  const std::vector<FailedAttempt> same(3, failed(Reason::kCudaInitFailed, {1}));
  EXPECT_EQ(policy.decide(failed(Reason::kCudaInitFailed, {1}), same).why,
            "failed 4 times on the same node");
  const std::vector<FailedAttempt> others = {failed(Reason::kGpuEccError, {1}),
                                             failed(Reason::kCudaInitFailed, {2}),
                                             failed(Reason::kGpuEccError, {1})};
  EXPECT_EQ(policy.decide(failed(Reason::kGpuEccError, {1, 3}), others).why, "failed on 3 nodes");
}

TEST(Adaptive, LooksForAnotherServerUntilItIsClearlyTheUser) {
  const RetryPolicy policy = RetryPolicy::adaptive();
  const std::vector<FailedAttempt> once = {failed(Reason::kCudaInitFailed, {1})};
  EXPECT_EQ(policy.decide(failed(Reason::kCudaInitFailed, {1}), once).next, kElsewhere);
  EXPECT_EQ(policy.decide(failed(Reason::kGpuEccError, {2}), once).next, kElsewhere);
  const Verdict alike = policy.decide(failed(Reason::kCudaInitFailed, {2}), once);
  EXPECT_EQ(alike.next, kStop);
  EXPECT_EQ(alike.blames, Blames::kUser);
  const std::vector<FailedAttempt> thrice(3, failed(Reason::kCudaInitFailed, {1}));
  EXPECT_EQ(policy.decide(failed(Reason::kCudaInitFailed, {1}), thrice).next, kStop);
}

TEST(Adaptive, EndsWhateverHappens) {
  const RetryPolicy policy = RetryPolicy::adaptive();
  Random random(1);
  std::size_t most = 0;
  for (int job = 0; job < 20'000; ++job) {
    std::vector<FailedAttempt> earlier;
    while (earlier.size() < 100) {
      const Reason reasons_that_retry[] = {Reason::kCoreDump, Reason::kCheckpointError,
                                           Reason::kMpiError, Reason::kCudaInitFailed,
                                           Reason::kGpuEccError};
      const FailedAttempt now = failed(reasons_that_retry[random.below(5)], {1});
      if (!policy.decide(now, earlier).again()) break;
      earlier.push_back(now);
    }
    most = std::max(most, earlier.size());
  }
  EXPECT_EQ(most, 1 + 2 * RetryPolicy::kMaxRetries);
}

TEST(Fixed, RetriesAnythingSoManyTimesAtOnce) {
  const RetryPolicy policy = RetryPolicy::fixed(2);
  for (const ReasonInfo& info : reasons()) {
    if (info.reason == Reason::kPreempted) continue;
    std::vector<FailedAttempt> earlier;
    for (const Next expected : {kRetry, kRetry, kStop}) {
      const Verdict verdict = policy.decide(failed(info.reason, {1}), earlier, true);
      EXPECT_EQ(verdict.next, expected) << info.name << " " << earlier.size();
      EXPECT_EQ(verdict.wait, Duration());
      EXPECT_EQ(verdict.blames, Blames::kNobody);
      earlier.push_back(failed(info.reason, {1}));
      earlier.push_back(failed(Reason::kPreempted, {1}));  // Does not count.
    }
    const Verdict none = RetryPolicy::none().decide(failed(info.reason), {});
    EXPECT_EQ(none.next, kStop) << info.name;
    EXPECT_EQ(none.why, "retries are disabled") << info.name;
  }
}

TEST(RetryPolicy, NeverGivesUpAJobThatWasPreempted) {
  const std::vector<FailedAttempt> often(50, failed(Reason::kPreempted, {1}));
  for (const RetryPolicy& policy :
       {RetryPolicy::none(), RetryPolicy::fixed(1), RetryPolicy::adaptive()}) {
    const Verdict verdict = policy.decide(failed(Reason::kPreempted, {2}), often, true);
    EXPECT_EQ(verdict.next, kRetry) << policy.text();
    EXPECT_EQ(verdict.wait, Duration()) << policy.text();
  }
}

// Two suspect failures, or a last failure like an earlier one on other nodes. Bad luck can look the
// same.
bool looks_like_the_users_fault(const Life& life) {
  const Reason last = life.failed.back().reason;
  int suspect = 0;
  int alike = 0;
  for (const FailedAttempt& attempt : life.failed) {
    suspect += info_of(attempt.reason).nature == RetryClass::kSuspect ? 1 : 0;
    alike += info_of(last).points_at_node() && attempt.reason == last ? 1 : 0;
  }
  return suspect == 2 || alike == 2;
}

TEST(Adaptive, WastesLessThanFixedAndLosesNextToNothing) {
  const FaultModel model(FaultOptions{}, 42);
  constexpr int kJobs = 60'000;
  double wasted_fixed = 0;
  double wasted_adaptive = 0;
  int finished_fixed = 0;
  int lost = 0;
  int won = 0;
  for (const Sample& job : philly_like(kJobs, 1)) {
    const Life fixed = live(model, RetryPolicy::fixed(3), job);
    const Life adaptive = live(model, RetryPolicy::adaptive(), job);
    wasted_fixed += fixed.wasted_gpu_hours;
    wasted_adaptive += adaptive.wasted_gpu_hours;
    finished_fixed += fixed.finished ? 1 : 0;
    won += adaptive.finished && !fixed.finished ? 1 : 0;
    if (fixed.failed.empty()) {
      EXPECT_TRUE(adaptive.finished && adaptive.failed.empty());
    }
    if (!fixed.finished || adaptive.finished) continue;
    ++lost;
    EXPECT_TRUE(looks_like_the_users_fault(adaptive));
  }
  const double saved = 100 * (1 - wasted_adaptive / wasted_fixed);
  RecordProperty("wasted_gpu_hours_fixed_3", std::to_string(wasted_fixed));
  RecordProperty("wasted_gpu_hours_adaptive", std::to_string(wasted_adaptive));
  RecordProperty("saved_percent", std::to_string(saved));
  RecordProperty("finished_fixed_3", finished_fixed);
  RecordProperty("finished_by_fixed_3_only", lost);
  RecordProperty("finished_by_adaptive_only", won);
  EXPECT_GE(saved, 15);
  EXPECT_LT(lost, finished_fixed / 200);
}

}  // namespace
}  // namespace muster
