// Reactions of the roster to failures: it retries on other nodes or later, quarantines bad nodes
// until they pass a test, and holds the jobs of an array that fails the same way.

#include <gtest/gtest.h>

#include "engine/roster/reactions_testing.h"
#include "live/views/views.h"

namespace muster {
namespace {

using live_testing::adaptive;
using live_testing::Counter;
using live_testing::member;
using live_testing::of;
using live_testing::said;
using live_testing::settings_for;
using live_testing::submit;

// Two users' jobs die on s0.
void spoil(Counter& desk, std::int64_t second = 10) {
  desk.at(second, {of(101, "ann")});
  EXPECT_EQ(desk.where(101), "s0:0");
  desk.fails_at(second + 1, 101, "no-signature");
  desk.at(second + 2, {of(102, "bob")});
  EXPECT_EQ(desk.where(102), "s0:0");
  desk.fails_at(second + 3, 102, "mpi-error");
}

TEST(Reactions, ARetryElsewhereSaysWhereNot) {
  Counter desk(adaptive("2x1"));
  desk.at(1, {submit(1)});
  EXPECT_EQ(desk.where(1), "s0:0");
  desk.fails_at(5, 1, "core-dump");
  EXPECT_EQ(desk.where(1), "s1:0");
  EXPECT_EQ(desk.heard["retried"],
            "core dump on attempt 1; retried elsewhere, not on s0: possibly a fault of the node");
  desk.fails_at(9, 1, "core-dump");
  EXPECT_EQ(desk.ends.size(), 0U);
  EXPECT_EQ(
      desk.heard["failed"],
      "so it went: core dump on attempt 2; not retried: it failed the same way on other nodes");
}

TEST(Reactions, WhoWaitsForOtherServersSaysSo) {
  Counter desk(adaptive("2x1"));
  desk.at(1, {submit(1), submit(2)});
  desk.fails_at(5, 1, "core-dump");
  EXPECT_EQ(desk.state(1), "queued");
  EXPECT_NE(why_waiting(desk.roster, *desk.roster.find(1)).find("not on s0, where it failed"),
            std::string::npos);
  desk.tick(605);
  EXPECT_EQ(desk.where(1), "s0:0");
}

TEST(Reactions, ARetryThatWaitsSaysHowLong) {
  Counter desk(adaptive("1x1"));
  desk.at(1, {submit(1)});
  desk.fails_at(5, 1, "checkpoint-error");
  EXPECT_EQ(desk.state(1), "retrying");
  EXPECT_EQ(desk.heard["retried"],
            "checkpoint error on attempt 1; retried in 60 s: storage or network may recover");
  EXPECT_NE(why_waiting(desk.roster, *desk.roster.find(1)).find("retried in 60 s"),
            std::string::npos);
  desk.tick(65);
  EXPECT_EQ(desk.state(1), "running");
}

TEST(Reactions, WhatNoRetryCanFixSaysSo) {
  Counter desk(adaptive("1x1"));
  desk.at(1, {submit(1)});
  desk.fails_at(5, 1, "import-error");
  EXPECT_EQ(desk.heard["failed"],
            "so it went: import error on attempt 1; not retried: no retry can fix it");
}

TEST(Reactions, AServerThatFailsTwoUsersIsTestedBeforeItReturns) {
  Counter desk(adaptive("2x1"));
  spoil(desk);
  ASSERT_EQ(desk.roster.quarantines().size(), 1U);
  EXPECT_EQ(desk.roster.quarantines().begin()->second.why,
            "reported by 2 users: 2 early failures within 2 s, last: mpi-error");
  EXPECT_EQ(desk.heard["node-quarantined"],
            "s0 is quarantined for 10 min: reported by 2 users: 2 early failures within 2 s, last: "
            "mpi-error");
  desk.at(20, {submit(1)});
  EXPECT_EQ(desk.where(1), "") << "s1 has Ann's job, and s0 takes none";
  EXPECT_TRUE(desk.machine.tests.empty());
  EXPECT_LE(desk.roster.wake(), Instant::at(Duration::seconds(613)));
  desk.tick(613);
  EXPECT_EQ(desk.machine.tests, std::vector<std::string>{"s0"});
  EXPECT_EQ(desk.heard["node-tested"], "s0 is being tested to end its quarantine");
  desk.tick(700);
  EXPECT_EQ(desk.machine.tests.size(), 1U) << "once is enough";
  desk.at(701, {NodeTestInput{"s0", true, ""}});
  EXPECT_TRUE(desk.roster.quarantines().empty());
  EXPECT_NE(desk.story.find("node-returned"), std::string::npos);
  EXPECT_EQ(desk.roster.engine().state().closed[NodeId(0)], 0);
}

TEST(Reactions, ATestThatFailsDoublesTheQuarantine) {
  Counter desk(adaptive("2x1"));
  spoil(desk);
  desk.tick(613);
  desk.roster.step(Instant::at(Duration::seconds(614)),
                   std::vector<Input>{NodeTestInput{"s0", false, "'nvidia-smi' ended with 9"}});
  EXPECT_EQ(said(desk.roster, "node-test-failed"),
            "s0 stays quarantined for 20 min because its test failed: 'nvidia-smi' ended with 9");
  const NodeQuarantine& still = desk.roster.quarantines().begin()->second;
  EXPECT_EQ(still.until, Instant::at(Duration::seconds(614 + 1200)));
  EXPECT_EQ(still.test, "'nvidia-smi' ended with 9");
  EXPECT_EQ(still.grade, EvidenceGrade::kMeasured);
  desk.at(615, {NodeTestInput{"s0", true, ""}, NodeTestInput{"s9", true, ""}});
  EXPECT_EQ(desk.roster.quarantines().size(), 1U) << "nobody asked";
  desk.tick(1814);
  EXPECT_EQ(desk.machine.tests.size(), 2U);
}

TEST(Reactions, AServerThatCannotBeUsedIsNotTested) {
  Counter desk(adaptive("2x1"));
  spoil(desk);
  desk.at(20, {NodeStateInput{"s0", false, "no power", {}}});
  desk.tick(700);
  EXPECT_TRUE(desk.machine.tests.empty());
  desk.at(701, {NodeStateInput{"s0", true, "", {}}});
  EXPECT_EQ(desk.machine.tests, std::vector<std::string>{"s0"}) << "it has been long enough";
  EXPECT_NE(desk.roster.engine().state().closed[NodeId(0)], 0) << "until it has passed";
}

TEST(Reactions, AnOperatorLiftsAQuarantineAndMayDrainOnTopOfIt) {
  Counter desk(adaptive("2x1"));
  spoil(desk);
  desk.at(20, {DrainInput{"s0", true}});
  EXPECT_TRUE(desk.roster.quarantines().empty());
  EXPECT_EQ(desk.roster.engine().state().closed[NodeId(0)], 0);
  desk.at(21, {CancelInput{101, "root"}, CancelInput{102, "root"}});
  Counter other(adaptive("2x1"));
  spoil(other);
  other.at(20, {DrainInput{"s0", false}});
  other.tick(613);
  other.at(614, {NodeTestInput{"s0", true, ""}});
  EXPECT_TRUE(other.roster.quarantines().empty());
  EXPECT_EQ(other.roster.engine().state().closed[NodeId(0)], 1) << "still drained";
  other.at(615, {DrainInput{"s0", true}});
  EXPECT_EQ(other.roster.engine().state().closed[NodeId(0)], 0);
}

TEST(Reactions, AQuarantineSurvivesASnapshot) {
  Counter desk(adaptive("2x1"));
  spoil(desk);
  desk.tick(613);
  Roster again(adaptive("2x1"));
  ASSERT_TRUE(again.restore(desk.roster.state()).ok());
  ASSERT_EQ(again.quarantines().size(), 1U);
  EXPECT_TRUE(again.quarantines().begin()->second.testing);
  EXPECT_EQ(again.engine().state().closed[NodeId(0)], 1);
  again.step(Instant::at(Duration::seconds(620)),
             std::vector<Input>{NodeTestInput{"s0", true, ""}});
  EXPECT_EQ(again.engine().state().closed[NodeId(0)], 0);
}

// As a real log would lead to: the signature blames the node.
FailureEvidence ecc() {
  FailureEvidence proof{"gpu-ecc", "uncorrectable ECC error", 1, "", {}};
  proof.told = SignatureReaction{Reaction::kRetryElsewhere, Bucket::kInfrastructure};
  return proof;
}

RosterSettings two_tenants(const char* cluster) {
  RosterSettings settings = adaptive(cluster);
  TenantList list;
  for (const char* const name : {"vision", "language"}) {
    TenantSpec spec;
    spec.name = name;
    spec.quota = 1;
    list.tenants.push_back(spec);
  }
  settings.tenants = TenantTree::build(list).value();
  return settings;
}

// A job of this user prints an ECC error on the node and fails.
void report_ecc(Counter& desk, LiveId id, const char* user, const char* tenant) {
  SubmitInput input = of(id, user);
  input.tenant = tenant;
  const auto second = static_cast<std::int64_t>(10 * id);
  desk.at(second, {input});
  ASSERT_EQ(desk.where(id), "s0:0");
  desk.fails_at(second + 1, id, "gpu-ecc-error", ecc());
  desk.at(second + 2, {CancelInput{id, "root"}});
  for (std::int64_t i = 0; i < 2; ++i) desk.at(second + 3 + i, {});
}

TEST(Reactions, LogTextNeedsTwoUsersOfTwoTenants) {
  Counter desk(two_tenants("3x1"));
  LiveId id = 0;
  for (int i = 0; i < 10; ++i) report_ecc(desk, ++id, "ann", "vision");
  report_ecc(desk, ++id, "amy", "vision");
  EXPECT_TRUE(desk.roster.quarantines().empty()) << "one tenant";
  report_ecc(desk, ++id, "carl", "language");
  ASSERT_EQ(desk.roster.quarantines().size(), 1U);
  const NodeQuarantine& quarantine = desk.roster.quarantines().begin()->second;
  EXPECT_EQ(quarantine.why.rfind("reported by 3 users of 2 tenants: gpu-ecc-error, ", 0), 0U)
      << quarantine.why;
  EXPECT_EQ(quarantine.grade, EvidenceGrade::kReported);
}

TEST(Reactions, MeasuredEventsCloseTheLastNodeAndSayWhich) {
  Counter desk(adaptive("1x1"));
  desk.at(1, {NodeEvidenceInput{"s0", "Xid 79"}, NodeEvidenceInput{"s9", "Xid 79"}});
  EXPECT_EQ(desk.machine.tests, std::vector<std::string>{"s0"}) << "one event starts a test";
  EXPECT_TRUE(desk.roster.quarantines().empty());
  desk.at(2, {NodeTestInput{"s0", true, ""}});
  desk.at(120, {NodeEvidenceInput{"s0", "Xid 79"}});
  ASSERT_EQ(desk.roster.quarantines().size(), 1U);
  const NodeQuarantine& quarantine = desk.roster.quarantines().begin()->second;
  EXPECT_EQ(quarantine.why, "measured: Xid 79 twice within 119 s");
  EXPECT_EQ(quarantine.grade, EvidenceGrade::kMeasured);
  EXPECT_EQ(desk.machine.tests.size(), 1U);
}

TEST(Reactions, AMeasuredEventAndAFailedTestCloseTheNode) {
  Counter desk(adaptive("1x1"));
  desk.at(1, {NodeEvidenceInput{"s0", "Xid 79"}});
  Roster again(adaptive("1x1"));
  ASSERT_TRUE(again.restore(desk.roster.state()).ok());
  EXPECT_EQ(again.checks().size(), 1U) << "the test is ordered again after a restart";
  for (Roster* roster : {&desk.roster, &again}) {
    roster->step(Instant::at(Duration::seconds(3)),
                 std::vector<Input>{NodeTestInput{"s0", false, "exited with status 9"}});
    ASSERT_EQ(roster->quarantines().size(), 1U);
    EXPECT_EQ(roster->quarantines().begin()->second.why,
              "measured: Xid 79, failed node test within 2 s");
    EXPECT_TRUE(roster->checks().empty());
  }
}

TEST(Reactions, ATenantRefutedThreeTimesIsIgnoredAlsoAfterARestart) {
  Counter desk(two_tenants("3x1"));
  LiveId id = 0;
  for (int i = 1; i <= 3; ++i) {
    id = static_cast<LiveId>(100 * i);
    report_ecc(desk, ++id, "ann", "vision");
    report_ecc(desk, ++id, "carl", "language");
    ASSERT_EQ(desk.roster.quarantines().size(), 1U);
    desk.tick(static_cast<std::int64_t>(10 * id) + 700);
    desk.at(static_cast<std::int64_t>(10 * id) + 701, {NodeTestInput{"s0", true, ""}});
    ASSERT_TRUE(desk.roster.quarantines().empty());
  }
  Counter again(two_tenants("3x1"));
  ASSERT_TRUE(again.roster.restore(desk.roster.state()).ok());
  for (Counter* each : {&desk, &again}) {
    id = 420;
    report_ecc(*each, ++id, "ann", "vision");
    report_ecc(*each, ++id, "carl", "language");
    EXPECT_TRUE(each->roster.quarantines().empty());
  }
}

TEST(Reactions, ThreeThatFailAlikeHoldTheRestOfTheirArray) {
  Counter desk(adaptive("1x1"));
  std::vector<Input> all = {submit(50)};
  for (LiveId id = 1; id <= 8; ++id) all.push_back(member(id, 1));
  desk.at(1, all);
  desk.ends_at(2, 50, LeaseResult::kFinished);
  for (LiveId id = 1; id <= 3; ++id) {
    EXPECT_EQ(desk.state(id), "running");
    desk.fails_at(2 + static_cast<std::int64_t>(id), id, "import-error");
  }
  // The fourth job got the GPU in the same step, and continues.
  EXPECT_EQ(desk.state(4), "running");
  EXPECT_EQ(desk.heard["siblings-held"],
            "4 jobs are held: the last 3 jobs of its array failed the same way: import error; "
            "release them to continue");
  for (LiveId id = 5; id <= 8; ++id) EXPECT_EQ(desk.state(id), "held");
  EXPECT_EQ(why_waiting(desk.roster, *desk.roster.find(7)),
            "held: the last 3 jobs of its array failed the same way: import error; to resume: "
            "muster release 7");
  desk.fails_at(10, 4, "import-error");
  desk.at(11, {ReleaseInput{5}, ReleaseInput{6}});
  EXPECT_EQ(desk.state(5), "running");
  EXPECT_TRUE(desk.roster.find(5)->held_why.empty());
  desk.ends_at(12, 5, LeaseResult::kFinished);
  desk.ends_at(13, 6, LeaseResult::kFinished);
  EXPECT_EQ(desk.state(7), "held");
}

TEST(Reactions, HeldSiblingsLeaveTheLineOfTheirArray) {
  Counter desk(adaptive("1x8"));
  std::vector<Input> all;
  for (LiveId id = 1; id <= 20; ++id) all.push_back(member(id, 1, 1));
  desk.at(1, all);
  for (LiveId id = 1; id <= 3; ++id)
    desk.fails_at(1 + static_cast<std::int64_t>(id), id, "syntax-error");
  EXPECT_EQ(desk.state(4), "held");
  EXPECT_TRUE(desk.machine.leases.empty());
  desk.at(10, {ReleaseInput{9}, ReleaseInput{12}});
  EXPECT_EQ(desk.state(9), "running");
  EXPECT_EQ(desk.state(12), "blocked");
  desk.ends_at(11, 9, LeaseResult::kFinished);
  EXPECT_EQ(desk.state(12), "running");
}

TEST(Reactions, SiblingsAreHeldOnlyForOneFaultInARow) {
  Counter desk(adaptive("1x1"));
  std::vector<Input> all;
  for (LiveId id = 1; id <= 9; ++id) all.push_back(member(id, 1));
  desk.at(1, all);
  desk.fails_at(2, 1, "import-error");
  desk.fails_at(3, 2, "import-error");
  desk.fails_at(4, 3, "syntax-error");
  desk.fails_at(5, 4, "import-error");
  desk.fails_at(6, 5, "import-error");
  desk.ends_at(7, 6, LeaseResult::kFinished);
  desk.fails_at(8, 7, "import-error");
  EXPECT_EQ(desk.heard.count("siblings-held"), 0U);
  EXPECT_EQ(desk.state(9), "queued");
}

TEST(Reactions, OfSuspectsOnlyAnArrayOfWhichNobodyEndedWellIsHeld) {
  for (const bool good_one : {false, true}) {
    RosterSettings settings = settings_for("1x1");  // Nothing is retried.
    Counter desk(std::move(settings));
    std::vector<Input> all;
    for (LiveId id = 1; id <= 9; ++id) all.push_back(member(id, 1));
    desk.at(1, all);
    good_one ? desk.ends_at(2, 1, LeaseResult::kFinished) : desk.fails_at(2, 1, "no-signature");
    for (LiveId id = 2; id <= 4; ++id) desk.fails_at(3, id, "no-signature");
    EXPECT_EQ(desk.heard.contains("siblings-held"), !good_one);
  }
}

TEST(Reactions, JobsOfOneUserAndNameAreSiblingsToo) {
  Counter desk(adaptive("1x1"));
  std::vector<Input> all;
  for (LiveId id = 1; id <= 6; ++id) all.push_back(submit(id));
  SubmitInput other = submit(7);
  other.request.name = "other";
  all.push_back(other);
  all.push_back(of(8, "bob"));
  desk.at(1, all);
  for (LiveId id = 1; id <= 3; ++id) desk.fails_at(2, id, "permission-error");
  EXPECT_EQ(desk.state(5), "held");
  EXPECT_EQ(desk.state(6), "held");
  EXPECT_EQ(desk.state(7), "queued");
  EXPECT_EQ(desk.state(8), "queued");
}

TEST(Reactions, WhatSiblingsDidSurvivesASnapshot) {
  Counter desk(adaptive("1x1"));
  std::vector<Input> all;
  for (LiveId id = 1; id <= 5; ++id) all.push_back(member(id, 1));
  desk.at(1, all);
  desk.fails_at(2, 1, "import-error");
  desk.fails_at(3, 2, "import-error");
  Roster again(adaptive("1x1"));
  ASSERT_TRUE(again.restore(desk.roster.state()).ok());
  LeaseOverInput over;
  over.id = 3;
  over.lease = 1;
  over.fate = LeaseResult::kFailed;
  over.reason = "import-error";
  again.step(Instant::at(Duration::seconds(4)), std::vector<Input>{over});
  EXPECT_EQ(again.state_of(*again.find(5)), LiveState::kHeld);
  Roster third(adaptive("1x1"));
  ASSERT_TRUE(third.restore(again.state()).ok());
  EXPECT_FALSE(third.find(5)->held_why.empty());
}

}  // namespace
}  // namespace muster
