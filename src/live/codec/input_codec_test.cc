// Inputs survive the text of a journal entry, and odd values do not make the journal unreadable.

#include "live/codec/input_codec.h"

#include <gtest/gtest.h>

#include <limits>

#include "engine/roster/reactions_testing.h"

namespace muster {
namespace {

using live_testing::adaptive;
using live_testing::Counter;
using live_testing::submit;

TEST(InputCodec, KeepsTheEndOfADrainAndReadsOneWithout) {
  const Instant end = Instant::micros(7);
  const Result<JournalStep> read =
      read_step(step_json({"d", {DrainInput{"n1", false, end}, DrainInput{"n2", false}}}));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(std::get<DrainInput>(read.value().inputs.at(0)).until, end);
  EXPECT_EQ(std::get<DrainInput>(read.value().inputs.at(1)).until, Instant::never());
  const std::string old = R"({"before":"d","inputs":[{"t":"drain","node":"n1","open":false}]})";
  EXPECT_EQ(std::get<DrainInput>(read_step(old).value().inputs.at(0)).until, Instant::never());
}

TEST(RosterReports, TheJournalKeepsThem) {
  ReportInput whole{3, 2, 1500, ReportInput::Speed{1e6, 12.5, 3.25, 0.125}};
  const Result<JournalStep> read =
      read_step(step_json({"d", {whole, ReportInput{4, 1, 2000, {}}}}));
  ASSERT_TRUE(read.ok()) << read.error().message;
  const auto& first = std::get<ReportInput>(read.value().inputs.at(0));
  EXPECT_EQ(first.id, 3U);
  EXPECT_EQ(first.lease, 2U);
  EXPECT_EQ(first.left_ms, 1500);
  EXPECT_EQ(first.speed, whole.speed);
  EXPECT_FALSE(std::get<ReportInput>(read.value().inputs.at(1)).speed);
}

TEST(InputCodec, KeepsMeasuredEvidence) {
  const Result<JournalStep> read = read_step(step_json({"d", {NodeEvidenceInput{"s1", "Xid 79"}}}));
  ASSERT_TRUE(read.ok()) << read.error().message;
  const auto& event = std::get<NodeEvidenceInput>(read.value().inputs.at(0));
  EXPECT_EQ(event.node, "s1");
  EXPECT_EQ(event.what, "Xid 79");
}

TEST(SubmitInputs, KeepTheUidAndAreReadableWithoutOne) {
  SubmitInput input = submit(7);
  input.uid = 1005;
  const auto read_again = [](const SubmitInput& given) {
    const Result<JournalStep> read = read_step(step_json({"d", {given}}));
    EXPECT_TRUE(read.ok()) << read.error().message;
    return std::get<SubmitInput>(read.value().inputs.at(0));
  };
  EXPECT_EQ(read_again(input).uid, 1005U);
  EXPECT_EQ(read_again(input).user, "ann");
  input.uid = kNoUid;  // As in journals of earlier versions.
  EXPECT_EQ(step_json({"d", {input}}).find("uid"), std::string::npos);
  EXPECT_EQ(read_again(input).uid, kNoUid);
}

// A manager that cannot read its journal does not start.
TEST(RosterReports, WhatIsNoNumberDoesNotMakeAJournalUnreadable) {
  const auto read = [](const std::string& rest) {
    const Result<JournalStep> step =
        read_step(R"({"before":"d","inputs":[{"t":"report","id":3,"lease":2)" + rest + "}]}");
    EXPECT_TRUE(step.ok()) << rest << ": " << step.error().message;
    return step.ok() ? std::get<ReportInput>(step.value().inputs.at(0)) : ReportInput{};
  };
  using Speed = ReportInput::Speed;
  EXPECT_EQ(read(R"(,"speed":[5,null,0.5,2])").speed, (Speed{5, 0, 0.5, 2}));
  EXPECT_EQ(read(R"(,"speed":[5,1])").speed, (Speed{5, 1, 0, 0}));
  EXPECT_EQ(read(R"(,"speed":["x",{},[],true])").speed, (Speed{0, 0, 0, 0}));
  EXPECT_FALSE(read(R"(,"speed":null)").speed);
  EXPECT_FALSE(read(R"(,"left_ms":null)").speed);
  EXPECT_EQ(read(R"(,"left_ms":null)").left_ms, -1);
  EXPECT_EQ(read(R"(,"left_ms":"x")").left_ms, -1);
  const double infinite = std::numeric_limits<double>::infinity();
  const ReportInput odd{3, 2, -1, Speed{1, infinite, 0, 0}};
  EXPECT_TRUE(read_step(step_json({"d", {odd}})).ok());
}

TEST(Reactions, WhatASignatureSaidSurvivesTheJournalAndASnapshot) {
  const FailureEvidence proof{"some-signature", "a line", 7, "Look at the mounts.",
                              SignatureReaction{Reaction::kBackOff, Bucket::kInfrastructure}};
  LeaseOverInput over;
  over.fate = LeaseResult::kFailed;
  over.reason = "incorrect-inputs";
  over.proof = proof;
  const Result<JournalStep> read = read_step(step_json({"", {over}}));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(std::get<LeaseOverInput>(read.value().inputs.front()).proof, over.proof);
  over.proof = {};
  const Result<JournalStep> old = read_step(step_json({"", {over}}));
  ASSERT_TRUE(old.ok()) << "without the new fields, as in older journals";
  EXPECT_FALSE(std::get<LeaseOverInput>(old.value().inputs.front()).proof.told);
  over.proof = proof;
  EXPECT_FALSE(read_step(R"({"before":"","inputs":[{"t":"over","id":1,"lease":1,"fate":"failed",)"
                         R"("reaction":"dance","bucket":"user","cpu_ms":0,"mem_peak_mib":0}]})")
                   .ok());

  Counter desk(adaptive("1x1"));
  desk.at(1, {submit(1)});
  for (const std::int64_t second : {5, 65, 185}) {
    desk.tick(second);
    desk.fails_at(second, 1, "incorrect-inputs", over.proof);
  }
  Roster again(adaptive("1x1"));
  ASSERT_TRUE(again.restore(desk.roster.state()).ok());
  EXPECT_EQ(again.find(1)->proof, over.proof);
  const auto failures = again.engine().failures(*again.find(1)->row);
  ASSERT_EQ(failures.size(), 3U);
  EXPECT_EQ(failures[2].told, over.proof.told) << "a fourth is not retried";
}

}  // namespace
}  // namespace muster
