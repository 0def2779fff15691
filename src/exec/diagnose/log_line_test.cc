#include "exec/diagnose/log_line.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(LogLine, IsStrippedOfWhatStandsInFront) {
  const struct {
    const char* line;
    const char* text;
    int rank;
  } cases[] = {
      {"KeyError: 'x'", "KeyError: 'x'", -1},
      {"[rank3]: KeyError: 'x'", "KeyError: 'x'", 3},
      {"[rank3]:   File \"a\"", "  File \"a\"", 3},
      {"[default12]:boom", "boom", 12},
      {"[1,7]<stderr>:boom", "boom", 7},
      {" 4: boom", "boom", 4},
      {"[2]<stderr>:boom", "boom", 2},
      {"trainer/0 [1]:boom", "boom", 1},
      {"worker-1  | boom", "boom", -1},
      {"ERROR 04-27 12:56:07 [executor.py:852] boom", "boom", -1},
      {"2024-05-14 23:55:39,233 boom", "boom", -1},
      {"[2024-05-14T23:55:39.1Z] boom", "boom", -1},
      {"24/05/14 23:55:39 ERROR x: boom", "ERROR x: boom", -1},
      {"May 14 23:55:39 gpu07 kernel: NVRM: boom", "NVRM: boom", -1},
      {"[ 1843.308145] NVRM: boom", "NVRM: boom", -1},
      {"node-1: boom", "boom", -1},
      {"train.py: error: boom", "train.py: error: boom", -1},
      {"(RayTrainWorker pid=12, ip=10.0.0.1) boom", "boom", -1},
      {"2024-05-14 23:55:39 [rank2]: boom", "boom", 2},
      {"\x1b[31m[rank1]: \x1b[1mboom\x1b[0m", "boom", 1},
      {"", "", -1},
      {"\x1b", "", -1},
      {"\x1b[", "", -1},
  };
  for (const auto& one : cases) {
    std::string scratch;
    const BareLine got = bare(one.line, scratch);
    EXPECT_EQ(got.text, one.text) << one.line;
    EXPECT_EQ(got.rank, one.rank) << one.line;
  }
}

TEST(LogLine, TimesOfAllKindsCompare) {
  const auto whole = time_of("2024-05-14 23:55:39 x");
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(time_of("[E514 23:55:39 x"), whole);
  EXPECT_EQ(time_of("E0514 23:55:39.000000 x"), whole);
  EXPECT_EQ(time_of("May 14 23:55:39 host x"), whole);
  EXPECT_EQ(time_of("24/05/14 23:55:39 x"), whole);
  EXPECT_EQ(*time_of("2024-05-14T23:55:39.5 x"), *whole + 500'000);
  EXPECT_LT(*whole, *time_of("2024-05-15 00:00:00"));
  EXPECT_LT(*time_of("2024-05-31 23:59:59"), *time_of("2024-06-01 00:00:00"));
  EXPECT_FALSE(time_of("23:55:39 x").has_value());
  EXPECT_FALSE(time_of("").has_value());
}

IgnoredMatch ignored(std::string_view line, std::string_view match) {
  const std::size_t at = line.find(match);
  return ignored_match_of(line, at, at + match.size());
}

TEST(LogLine, ShowsSuccess) {
  EXPECT_TRUE(shows_success("Training finished, best accuracy 0.91"));
  EXPECT_TRUE(shows_success("{'train_runtime': 81.2, 'train_loss': 1.1}"));
  EXPECT_TRUE(shows_success("`Trainer.fit` stopped: `max_epochs=3` reached."));
  EXPECT_FALSE(shows_success("training failed, finished with an error"));
  EXPECT_FALSE(shows_success("job finished"));
}

TEST(LogLine, KnowsDecoys) {
  constexpr std::string_view kOom = "CUDA out of memory";
  EXPECT_EQ(ignored("RuntimeError: CUDA out of memory. If you see this, to avoid it", kOom),
            IgnoredMatch::kNone);
  EXPECT_EQ(ignored("WARNING: CUDA out of memory", kOom), IgnoredMatch::kWarning);
  EXPECT_EQ(ignored("a NCCL WARN CUDA out of memory", kOom), IgnoredMatch::kNone);
  EXPECT_EQ(ignored("INFO:root:CUDA out of memory", kOom), IgnoredMatch::kRemark);
  EXPECT_EQ(ignored("CUDA out of memory, retrying", kOom), IgnoredMatch::kGoesOn);
  EXPECT_EQ(ignored("CUDA out of memory, giving up after retrying", kOom), IgnoredMatch::kNone);
  EXPECT_EQ(ignored("# CUDA out of memory", kOom), IgnoredMatch::kQuoted);
  EXPECT_EQ(ignored("if you see CUDA out of memory", kOom), IgnoredMatch::kQuoted);
  EXPECT_EQ(ignored("wrote out/KeyError.txt", "KeyError"), IgnoredMatch::kFileName);
  EXPECT_EQ(ignored("wrote KeyError_3", "KeyError"), IgnoredMatch::kFileName);
  EXPECT_EQ(ignored("0 KeyError", "KeyError"), IgnoredMatch::kQuoted);
  EXPECT_EQ(ignored("args: {'retry_on': ['CUDA out of memory']}", kOom), IgnoredMatch::kQuoted);
  EXPECT_EQ(ignored("10:02 Config = (retry_on=CUDA out of memory)", kOom), IgnoredMatch::kQuoted);
  EXPECT_EQ(ignored("bad args: CUDA out of memory", kOom), IgnoredMatch::kNone);
  EXPECT_EQ(ignored("[info] on CUDA out of memory, stop", kOom), IgnoredMatch::kRemark);
  EXPECT_EQ(ignored("t=1 level=debug msg=\"CUDA out of memory", kOom), IgnoredMatch::kRemark);
  EXPECT_EQ(ignored("the information is: CUDA out of memory", kOom), IgnoredMatch::kNone);
  EXPECT_EQ(ignored("on CUDA out of memory the batch is halved", kOom), IgnoredMatch::kGoesOn);
  EXPECT_EQ(ignored("json.decoder.JSONDecodeError: Expecting", "json.decoder"),
            IgnoredMatch::kNone);
  EXPECT_EQ(ignored("wrote json.decoder.txt", "json.decoder"), IgnoredMatch::kFileName);
}

TEST(LogLine, KnowsOrdinaryOnes) {
  EXPECT_TRUE(is_ordinary("cache miss, computing"));
  EXPECT_FALSE(is_ordinary("  and the rest of a message"));
  EXPECT_FALSE(is_ordinary("shutting down after an error"));
}

TEST(LogLine, KnowsProgress) {
  for (const char* line : {"epoch 3 step 200 loss 0.31", "Epoch: [4] [ 12/99]", "12.5 it/s",
                           " 43%|####", "iter=100", "loss: 0.5"}) {
    EXPECT_TRUE(shows_progress(line)) << line;
  }
  for (const char* line : {"step 7 loss nan", "error at step 3", "hello", "epoch three"}) {
    EXPECT_FALSE(shows_progress(line)) << line;
  }
}

TEST(LogLine, KnowsWhatIsOnlyPossible) {
  EXPECT_TRUE(is_only_possible("job may be cancelled due to time limit"));
  EXPECT_TRUE(is_only_possible("this job is preempted 0 times"));
  EXPECT_TRUE(is_only_possible("the time limit is reached in 30 minutes"));
  EXPECT_FALSE(is_only_possible("slurmstepd: JOB 7 CANCELLED DUE TO TIME LIMIT"));
  EXPECT_FALSE(is_only_possible("instance is reclaimed in 2 minutes"));
}

TEST(LogLine, KnowsExceptions) {
  for (const char* line : {"KeyError: 'x'", "torch.cuda.OutOfMemoryError: CUDA", "MemoryError",
                           "ray.exceptions.RayTaskError(ValueError): x", "_queue.Empty"}) {
    EXPECT_TRUE(is_exception(line)) << line;
  }
  for (const char* line :
       {"an error: x", "  KeyError: 'x'", "Error in KeyError: 'x'", "errors: 0"}) {
    EXPECT_FALSE(is_exception(line)) << line;
  }
}

TEST(LogLine, IsCleanedForPeople) {
  EXPECT_EQ(clean("a\tb\x01\x7f"
                  "c\x1b[31md  ",
                  100),
            "a b  cd");
  EXPECT_EQ(clean("caf\xc3\xa9 \xe2\x9c\x93 \xf0\x9f\x98\x80", 100),
            "caf\xc3\xa9 \xe2\x9c\x93 \xf0\x9f\x98\x80");
  const std::string bad = "\xef\xbf\xbd";
  EXPECT_EQ(clean("\xc3", 100), bad);
  EXPECT_EQ(clean("\xed\xa0\x80"
                  "x",
                  100),
            bad + bad + bad + "x");
  EXPECT_EQ(clean("\xc0\xaf", 100), bad + bad);
  EXPECT_EQ(clean("\xc2\x85", 100), "");
  const std::string cut = clean(std::string(1'000, 'x'), 400);
  EXPECT_EQ(cut, std::string(397, 'x') + "...");
  EXPECT_LE(clean(std::string(399, 'x') + "\xe2\x9c\x93", 400).size(), 400U);
}

}  // namespace
}  // namespace muster
