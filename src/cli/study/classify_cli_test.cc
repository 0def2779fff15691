// `muster classify`: logs in, one sentence and what Muster would do about it out.

#include "cli/common/testing.h"

namespace muster {
namespace {

class ClassifyCli : public ScratchTest {
 protected:
  std::string oom_ = file("oom.log",
                          "step 1 loss 2.5\n"
                          "Traceback (most recent call last):\n"
                          "  File \"train.py\", line 9, in <module>\n"
                          "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n");
  std::string echo_ = file("echo.log", "RuntimeError: Connection reset by peer\n");
};

TEST_F(ClassifyCli, SaysItInOneSentenceThenShowsTheLineAndTheReaction) {
  const Output got = muster("classify " + oom_);
  EXPECT_EQ(got.status, kExitDone) << got.err;
  EXPECT_TRUE(got.out.starts_with("The job ran out of GPU memory.\n")) << got.out;
  EXPECT_TRUE(has(got.out, oom_ + ":4: RuntimeError: CUDA out of memory.")) << got.out;
  EXPECT_TRUE(has(got.out, "Muster    would not retry it")) << got.out;
  EXPECT_TRUE(has(got.out, "advice    Use a smaller batch")) << got.out;
}

TEST_F(ClassifyCli, JsonHasTheWholeDiagnosis) {
  const Output got = muster("classify --json " + echo_ + " " + oom_);
  EXPECT_EQ(got.status, kExitDone) << got.err;
  const Json json = Json::parse(got.out);
  EXPECT_EQ(json["found"], true);
  EXPECT_EQ(json["reason"], "gpu-out-of-memory");
  EXPECT_EQ(json["bucket"], "user");
  EXPECT_EQ(json["explicit"], true);
  EXPECT_EQ(json["signature"], "gpu-memory");
  EXPECT_EQ(json["file"], oom_);
  EXPECT_EQ(json["rank"], 1);
  EXPECT_EQ(json["line"], 4);
  EXPECT_EQ(json["reaction"], "stop");
  EXPECT_TRUE(json["evidence"].get<std::string>().starts_with("RuntimeError: CUDA out"));
  EXPECT_FALSE(json.contains("matches"));
}

TEST_F(ClassifyCli, ExplainsEveryMatch) {
  const Output got = muster("classify --explain " + echo_ + " " + oom_);
  EXPECT_TRUE(has(got.out, "peer-lost (explicit, priority 412): a secondary failure")) << got.out;
  EXPECT_TRUE(has(got.out, "gpu-memory (explicit, priority 200): chosen")) << got.out;
  EXPECT_TRUE(has(muster("classify --explain " + echo_).out, "\n1 line matches:\n"));
  const Json json = Json::parse(muster("classify --json --explain " + echo_ + " " + oom_).out);
  EXPECT_GE(json["matches"].size(), 2u);
}

TEST_F(ClassifyCli, StatusOneIfNothingSaysWhy) {
  const std::string quiet = file("quiet.log", "hello\n");
  const Output got = muster("classify " + quiet);
  EXPECT_EQ(got.status, kExitFailed);
  EXPECT_TRUE(got.out.starts_with("The log does not show why the job ended.\n")) << got.out;
  const Json json = Json::parse(muster("classify --json " + quiet).out);
  EXPECT_EQ(json["found"], false);
  EXPECT_EQ(json["line"], nullptr);
  const Output code = muster("classify --exit-code 139 " + quiet);
  EXPECT_EQ(code.status, kExitDone);
  EXPECT_TRUE(has(code.out, "SIGSEGV")) << code.out;
  EXPECT_TRUE(has(code.out, "evidence  exit code 139")) << code.out;
  EXPECT_TRUE(has(muster("classify --signal 6 " + quiet).out, "evidence  signal 6"));
}

TEST_F(ClassifyCli, RulesOfOnesOwnComeFirstAndShadowById) {
  const std::string rules = file("rules.yaml",
                                 "signatures:\n"
                                 "  - id: licence\n"
                                 "    reason: permission-error\n"
                                 "    reaction: back-off\n"
                                 "    patterns: ['no licence left']\n"
                                 "    says: the licence server had none left\n"
                                 "  - id: gpu-memory\n"
                                 "    reason: gpu-out-of-memory\n"
                                 "    patterns: ['card is full']\n"
                                 "    says: the card is full\n");
  const std::string log = file("own.log", "KeyError: no licence left\n");
  const Output own = muster("classify --rules " + rules + " " + log);
  EXPECT_TRUE(own.out.starts_with("The licence server had none left.\n")) << own.out;
  EXPECT_TRUE(has(own.out, "would retry it after a delay")) << own.out;
  const Output shadowed = muster("classify --rules " + rules + " " + oom_);
  EXPECT_FALSE(has(shadowed.out, "gpu-memory")) << shadowed.out;
}

TEST_F(ClassifyCli, LinesAreCountedAcrossBlocks) {
  std::string text;
  while (text.size() < (5U << 20U)) text += "epoch 1 step 2 loss 0.5, all is well in this line\n";
  const auto lines = std::count(text.begin(), text.end(), '\n');
  const std::string log = file("long.log", text + "Segmentation fault (core dumped)");
  const Json json = Json::parse(muster("classify --json " + log).out);
  EXPECT_EQ(json["line"], lines + 1);
  EXPECT_EQ(json["signature"], "segfault");
}

TEST_F(ClassifyCli, RefusesBadInput) {
  expect_refused(muster("classify " + path("none.log")), "none.log: no such file");
  expect_refused(muster("classify " + dir_.string()), ": a directory");
  expect_refused(muster("classify " + oom_ + " --signal 99"), "no such signal: '99'");
  expect_refused(muster("classify " + oom_ + " --rules " + path("none.yaml")),
                 "none.yaml: no such file");
  EXPECT_EQ(muster("classify").status, kExitBadInput);
  const std::string rules = file("rules.yaml",
                                 "signatures:\n"
                                 "  - id: x\n"
                                 "    reason: gpu-out-of-memry\n"
                                 "    patterns: ['abc']\n"
                                 "    says: x\n");
  expect_refused(muster("classify " + oom_ + " --rules " + rules),
                 "rules.yaml:3: reason: unknown reason: 'gpu-out-of-memry'; did you mean "
                 "'gpu-out-of-memory'?");
}

}  // namespace
}  // namespace muster
