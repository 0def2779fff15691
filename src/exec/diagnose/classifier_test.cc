#include "exec/diagnose/classifier.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

Signature made(std::string id, Reason reason, std::string pattern, int priority = 50) {
  Signature out;
  out.id = std::move(id);
  out.reason = reason;
  out.bucket = info_of(reason).bucket();
  out.reaction = reaction_to(reason);
  out.patterns = {std::move(pattern)};
  out.priority = priority;
  out.says = "it is so";
  return out;
}

const Signatures& few() {
  static const Signatures kFew = [] {
    Signature echo = made("echo", Reason::kMpiRuntimeFailure, "reset by peer");
    echo.echo = true;
    Signature generic = made("file", Reason::kIncorrectInputs, "no such file", 60);
    generic.generic = true;
    Signature save = made("save", Reason::kCheckpointError, "no such file", 10);
    save.within = {"save_checkpoint"};
    Signature traceback = made("traceback", Reason::kTraceback, "Traceback \\(most recent", 90);
    traceback.is_explicit = false;
    Signature core = made("core", Reason::kCoreDump, "core dumped", 91);
    core.is_explicit = false;
    Signature segv = made("segv", Reason::kInvalidMemoryAccess, "segmentation fault");
    segv.unless = {"caught"};
    return Signatures({made("oom", Reason::kGpuOutOfMemory, "cuda out of memory", 20),
                       made("cuda", Reason::kCudaFailure, "cuda (?:error|out)", 40),
                       made("key", Reason::kSemanticError, "KeyError", 70), echo, generic, save,
                       traceback, core, segv});
  }();
  return kFew;
}

Diagnosis of(std::string_view text, SchedulerFacts facts = {}) {
  AttemptLogs attempt;
  attempt.facts = facts;
  attempt.ranks.push_back({0, text, 1, {}, {}, {}});
  return classify(attempt, few());
}

Diagnosis of_ranks(const std::vector<RankLog>& ranks) { return classify({{}, ranks}, few()); }

TEST(Classifier, FactsOfTheSchedulerComeFirst) {
  SchedulerFacts facts;
  EXPECT_EQ(of("CUDA out of memory", facts).signature, "oom");
  facts.oom_kills = 0;
  EXPECT_EQ(of("CUDA out of memory", facts).signature, "oom");
  facts.over_time_limit = true;
  EXPECT_EQ(of("CUDA out of memory", facts).signature, "scheduler-time-limit");
  facts.oom_kills = 2;
  EXPECT_EQ(of("x", facts).reason, Reason::kCpuOutOfMemory);
  facts.node_lost = true;
  EXPECT_EQ(of("x", facts).reaction, Reaction::kRetryElsewhere);
  facts.preempted = true;
  EXPECT_EQ(of("x", facts).reason, Reason::kPreempted);
}

TEST(Classifier, OfOneLineTheLeastPriorityOfSeveralTheEarliest) {
  EXPECT_EQ(of("CUDA out of memory").signature, "oom");
  const Diagnosis got = of("a\nKeyError: 1\nb\nCUDA out of memory\n");
  EXPECT_EQ(got.signature, "key");
  EXPECT_EQ(got.line, 2);
  EXPECT_EQ(got.evidence, "KeyError: 1");
}

TEST(Classifier, ExplicitBeatsImplicitWhichBeatsEchoes) {
  EXPECT_EQ(of("Aborted (core dumped)\nKeyError: 1\n").signature, "key");
  EXPECT_EQ(of_ranks({{0, "reset by peer\n", 1, {}, {}, {}},
                      {1, "Aborted (core dumped)\n", 1, {}, {}, {}}})
                .signature,
            "core");
  // An abort because of a lost peer is a secondary failure too.
  EXPECT_EQ(of("reset by peer\nAborted (core dumped)\n").signature, "echo");
}

TEST(Classifier, TracebacksGiveTheirLastLine) {
  const Diagnosis got =
      of("Traceback (most recent call last):\n  File \"CUDA out of memory\"\n"
         "    raise x\nmy.Own: boom\nlater\n");
  EXPECT_EQ(got.signature, "traceback");
  EXPECT_EQ(got.evidence, "my.Own: boom");
  EXPECT_EQ(got.line, 4);
  EXPECT_FALSE(got.is_explicit);
  EXPECT_EQ(of("Traceback (most recent call last):\n  File \"a\"").line, 1);
  EXPECT_EQ(of("Traceback (most recent call last):\n  f\nx: reset by peer\n").signature, "echo");
}

TEST(Classifier, WithinLooksAtTheFrames) {
  constexpr const char* kSave =
      "Traceback (most recent call last):\n  File \"a\", in save_checkpoint\nOSError: no such "
      "file\n";
  EXPECT_EQ(of(kSave).signature, "save");
  EXPECT_EQ(of("save_checkpoint\nOSError: no such file\n").signature, "file");
}

TEST(Classifier, ChainsOfExceptions) {
  const std::string lookup = "Traceback (most recent call last):\n  f\nKeyError: 1\n\n";
  const std::string oom = "Traceback (most recent call last):\n  g\nE: CUDA out of memory\n";
  const std::string handling = "During handling of the above exception, another one occurred:\n\n";
  const std::string cause = "The above exception was the direct cause of the following one:\n\n";
  EXPECT_EQ(of(lookup + handling + oom).signature, "oom");
  EXPECT_EQ(of(lookup + cause + oom).signature, "key");
  EXPECT_EQ(of(lookup + oom).signature, "key");
}

TEST(Classifier, WhatTrainingSurvivedIsNoCause) {
  const std::string went_on = "step 1 loss 2\nstep 2 loss 2\nstep 3 loss 2\n";
  EXPECT_EQ(of("CUDA out of memory\n" + went_on).signature, "");
  EXPECT_EQ(of("CUDA out of memory\n" + went_on + "KeyError: 1\n").signature, "key");
  EXPECT_EQ(of("CUDA out of memory\nstep 1 loss 2\n").signature, "oom");
  EXPECT_EQ(of("CUDA out of memory, retrying\nKeyError: 1\n").signature, "key");
}

TEST(Classifier, WhatAProgramCaughtIsNotWhatItDiedOf) {
  const std::string lookup = "Traceback (most recent call last):\n  f\nKeyError: 1\n";
  const std::string oom = "Traceback (most recent call last):\n  g\nE: CUDA out of memory\n";
  const std::string echo = "Traceback (most recent call last):\n  g\nE: reset by peer\n";
  EXPECT_EQ(of(lookup + "cache miss, computing\n" + oom).signature, "oom");
  EXPECT_EQ(of(lookup + "cache miss, computing\n" + oom + "all is well\n").signature, "key")
      << "the later one does not end the log";
  EXPECT_EQ(of(lookup + "cache miss, computing\n" + echo).signature, "key");
  EXPECT_EQ(of(lookup + "an error was seen\n" + oom).signature, "key") << "nothing ordinary";
  EXPECT_EQ(of(oom + "a hint\nanother\n" + lookup).signature, "oom")
      << "words of the exception itself";
  EXPECT_EQ(of(oom + "a\nb\nc\nd\n" + lookup).signature, "key");
  const Diagnosis again = of(lookup + "cache miss, computing\n" + lookup);
  EXPECT_EQ(again.line, 7) << "of two alike the one it died of";
}

TEST(Classifier, APathOnTheLineUnsaysNothing) {
  const Signatures one({made("peer", Reason::kMpiRuntimeFailure, "net/tcp|closed by peer")});
  const auto found = [&](std::string_view line) {
    return classify({{}, {{0, line, 1, {}, {}, {}}}}, one).signature;
  };
  EXPECT_EQ(found("[../src/net/tcp/pair.cc:598] Connection closed by peer"), "peer");
  EXPECT_EQ(found("compiling ../src/net/tcp/pair.cc"), "");
}

TEST(Classifier, WhatIsLoggedAsInformationIsNoCauseUnlessOfTheInfrastructure) {
  EXPECT_EQ(of("INFO policy on CUDA out of memory: stop\n").signature, "");
  EXPECT_EQ(of("INFO connection reset by peer\n").signature, "echo");
}

TEST(Classifier, GenericWordsYieldToWhatIsCertain) {
  EXPECT_EQ(of("rm: no such file\nCUDA error\n").signature, "cuda");
  EXPECT_EQ(of("OSError: no such file\nCUDA error\n").signature, "file");
  EXPECT_EQ(of("rm: no such file\n").signature, "file");
}

TEST(Classifier, HintsCountOnlyWithoutAnotherReason) {
  Signature hint = made("hint", Reason::kSemanticError, "command not found");
  hint.is_explicit = false;
  hint.generic = true;
  Signature core = made("core", Reason::kCoreDump, "core dumped");
  core.is_explicit = false;
  Signature echo = made("echo", Reason::kMpiRuntimeFailure, "reset by peer");
  echo.echo = true;
  const Signatures three({hint, core, echo});
  const auto of_log = [&](std::string_view text, std::optional<int> code = {}) {
    return classify({{}, {{0, text, 1, code, {}, {}}}}, three).signature;
  };
  EXPECT_EQ(of_log("module: command not found\n"), "hint");
  EXPECT_EQ(of_log("module: command not found\n", 143), "hint");
  EXPECT_EQ(of_log("module: command not found\n", 139), "exit-segmentation-fault");
  EXPECT_EQ(of_log("module: command not found\nAborted (core dumped)\n"), "core");
  EXPECT_EQ(of_log("module: command not found\nreset by peer\n"), "echo");
}

TEST(Classifier, ActionsOfTheSchedulerCountInWarnings) {
  const Signatures two({made("preempted", Reason::kPreempted, "is preempted", 0),
                        made("oom", Reason::kGpuOutOfMemory, "out of memory", 20)});
  const auto of_line = [&](std::string_view text) {
    return classify({{}, {{0, text, 1, {}, {}, {}}}}, two).signature;
  };
  EXPECT_EQ(of_line("launcher WARNING (10:00) - this job is preempted\n"), "preempted");
  EXPECT_EQ(of_line("INFO this job is preempted\n"), "preempted");
  EXPECT_EQ(of_line("WARNING out of memory\n"), "");
  EXPECT_EQ(of_line("Warning  Failed  2m  kubelet  out of memory\n"), "oom")
      << "an event of Kubernetes";
}

TEST(Classifier, SuccessEndsWhatTheProgramHandled) {
  EXPECT_EQ(of("KeyError: 1\nepoch 3 loss 0.5\nTraining finished.\n").signature, "");
  EXPECT_EQ(of("KeyError: 1\ncopying logs\nsyncing results\nTraining finished.\n").signature, "key")
      << "a shell script can print this after a failure";
  EXPECT_EQ(of("a\nb\nTraining finished.\nKeyError: 1\n").signature, "key");
}

TEST(Classifier, TracebacksThatPythonIgnoresAreNoCause) {
  const std::string ignored =
      "Exception ignored in: <function f>\nTraceback (most recent call last):\n  f\nKeyError: 1\n";
  EXPECT_EQ(of(ignored).signature, "");
  EXPECT_EQ(of(ignored + "Traceback (most recent call last):\n  f\nKeyError: 2\n").line, 7);
  EXPECT_EQ(of("[rank0]: Exception ignored in: <function f>\n"
               "[rank1]: Traceback (most recent call last):\n[rank1]:   f\n[rank1]: KeyError: 1\n")
                .signature,
            "key")
      << "of another rank";
}

TEST(Classifier, UnlessAndCase) {
  EXPECT_EQ(of("SEGMENTATION FAULT").signature, "segv");
  EXPECT_EQ(of("caught segmentation fault").signature, "");
}

TEST(Classifier, AmongRanksTheEarliest) {
  const std::string early = "2024-01-01 10:00:00 CUDA error\n";
  const std::string late = "2024-01-01 10:00:09 KeyError\n";
  for (const bool swapped : {false, true}) {
    const Diagnosis got = of_ranks(
        {{0, swapped ? late : early, 1, {}, {}, {}}, {1, swapped ? early : late, 1, {}, {}, {}}});
    EXPECT_EQ(got.signature, "cuda");
    EXPECT_EQ(got.rank, swapped ? 1 : 0);
  }
  // Without times in the lines, the first process to end wins, otherwise the priority.
  EXPECT_EQ(of_ranks({{0, "CUDA error", 1, {}, {}, 20}, {1, "KeyError", 1, {}, {}, 10}}).signature,
            "key");
  EXPECT_EQ(of_ranks({{0, "KeyError", 1, {}, {}, {}}, {1, "CUDA error", 1, {}, {}, {}}}).signature,
            "cuda");
}

TEST(Classifier, OneLogOfManyRanks) {
  const Diagnosis got =
      of("[rank1]: Traceback (most recent call last):\n[rank0]: reset by peer\n[rank1]:   f\n"
         "[rank1]: KeyError: 7\n");
  EXPECT_EQ(got.signature, "key");
  EXPECT_EQ(got.rank, 1);
  EXPECT_EQ(got.line, 4);
}

TEST(Classifier, HowProcessesEnded) {
  const auto ended = [](std::optional<int> code, std::optional<int> signal,
                        std::optional<int> oom_kills = {}) {
    AttemptLogs attempt;
    attempt.facts.oom_kills = oom_kills;
    attempt.ranks.push_back({0, "quiet\n", 1, code, signal, {}});
    return classify(attempt, few());
  };
  EXPECT_EQ(ended(139, {}).reason, Reason::kInvalidMemoryAccess);
  EXPECT_EQ(ended({}, 11).reason, Reason::kInvalidMemoryAccess);
  EXPECT_EQ(ended(-11, {}).reason, Reason::kInvalidMemoryAccess);
  EXPECT_EQ(ended(134, {}).reason, Reason::kCoreDump);
  EXPECT_EQ(ended(127, {}).reason, Reason::kSemanticError);
  EXPECT_EQ(ended(126, {}).reason, Reason::kPermissionError);
  EXPECT_EQ(ended(137, {}).reason, Reason::kCpuOutOfMemory);
  EXPECT_EQ(ended(137, {}, 0).reason, Reason::kNoSignature);
  EXPECT_EQ(ended(143, {}).signature, "exit-terminated");
  EXPECT_FALSE(ended(1, {}).found());
  EXPECT_FALSE(ended(0, {}).found());
  // A rank that ended by itself is the cause of secondary failures. A rank ended by SIGTERM is not.
  EXPECT_EQ(of_ranks({{0, "reset by peer", 1, 1, {}, {}}, {1, "", 1, {}, 11, {}}}).rank, 1);
  EXPECT_EQ(of_ranks({{0, "reset by peer", 1, 1, {}, {}}, {1, "", 1, 143, {}, {}}}).signature,
            "echo");
  // Neither is a rank that reported the loss of a peer.
  EXPECT_EQ(of_ranks({{0, "reset by peer", 1, 134, {}, {}}, {1, "", 1, 143, {}, {}}}).signature,
            "echo");
}

TEST(Classifier, AnyBytesInLinesOfAnyLength) {
  EXPECT_EQ(of("").signature, "");
  EXPECT_EQ(of(std::string_view("\0\r\n\xff\n", 5)).signature, "");
  const std::string huge = std::string(100'000, 'x') + " CUDA out of memory \xff\x01";
  const Diagnosis got = of(huge + "\nKeyError");
  EXPECT_EQ(got.signature, "oom");
  EXPECT_EQ(got.line, 1);
  EXPECT_LE(got.evidence.size(), kMaxEvidenceBytes);
  EXPECT_EQ(of("10%|#  | loss=1\rCUDA out of memory\n").evidence, "CUDA out of memory");
}

TEST(Classifier, FirstLineIsTheTails) {
  AttemptLogs attempt;
  attempt.ranks.push_back({3, "a\nKeyError\n", 1'001, {}, {}, {}});
  EXPECT_EQ(classify(attempt, few()).line, 1'002);
  EXPECT_EQ(classify(attempt, few()).rank, 3);
}

TEST(Signatures, ReactionsAreThoseOfTheAdaptivePolicy) {
  EXPECT_EQ(reaction_to(Reason::kSyntaxError), Reaction::kStop);
  EXPECT_EQ(reaction_to(Reason::kPreempted), Reaction::kRetry);
  EXPECT_EQ(reaction_to(Reason::kGpuEccError), Reaction::kRetryElsewhere);
  EXPECT_EQ(reaction_to(Reason::kCheckpointError), Reaction::kBackOff);
  for (std::size_t i = 0; i < kReactionCount; ++i) {
    EXPECT_EQ(find_reaction(key_of(Reaction(i))), Reaction(i));
  }
}

TEST(Signatures, OwnOnesShadowAndComeFirst) {
  const std::vector<Signature> got =
      merged({made("a", Reason::kTraceback, "xyz")},
             {made("b", Reason::kCoreDump, "abc"), made("a", Reason::kCoreDump, "abc")});
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(got[0].reason, Reason::kTraceback);
  EXPECT_EQ(got[1].id, "b");
  const Signatures tied(merged({made("mine", Reason::kTraceback, "boom")},
                               {made("theirs", Reason::kCoreDump, "boom")}));
  AttemptLogs attempt;
  attempt.ranks.push_back({0, "boom", 1, {}, {}, {}});
  EXPECT_EQ(classify(attempt, tied).signature, "mine");
}

}  // namespace
}  // namespace muster
