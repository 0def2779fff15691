#include "engine/failure/node_blame.h"

#include <gtest/gtest.h>

#include "base/types/random.h"
#include "engine/failure/node_blame_testing.h"
#include "tests/campaign.h"

namespace muster {
namespace {

constexpr NodeId kNode(1);
// Users and their tenants.
struct Who {
  UserId user;
  TenantId tenant;
};
constexpr Who kA1{UserId(1), TenantId(1)};
constexpr Who kA2{UserId(2), TenantId(1)};
constexpr Who kB1{UserId(3), TenantId(2)};
constexpr Duration kShort = Duration::seconds(20);

Instant hour(std::int64_t n) { return Instant::at(Duration::seconds(3600 * n)); }
Instant second(std::int64_t n) { return Instant::at(Duration::seconds(n)); }

NodeReport failed(const Who& who, Reason reason, NodeId node = kNode) {
  NodeReport report;
  report.node = node;
  report.user = who.user;
  report.tenant = who.tenant;
  report.reason = reason;
  report.nature = info_of(reason).nature;
  return report;
}
NodeReport died(const Who& who, Reason reason, Duration ran = kShort) {
  NodeReport report = failed(who, reason);
  report.blames_node = false;
  report.ran = ran;
  return report;
}
NodeReport by_hardware(NodeReport report) {
  report.grade = EvidenceGrade::kMeasured;
  return report;
}

TEST(NodeBlame, ReportsOfOneUserCostTheNodeNothing) {
  NodeBlame blame(2, {.tenants = 2});
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(blame.report(second(i), failed(kA1, Reason::kGpuEccError), true));
    EXPECT_FALSE(blame.report(second(i), died(kA1, Reason::kNoSignature), true));
  }
}

TEST(NodeBlame, ReportsNeedTwoTenantsIfThereAreSeveral) {
  for (const int tenants : {1, 2}) {
    NodeBlame blame(2, {.tenants = tenants});
    EXPECT_FALSE(blame.report(hour(0), failed(kA1, Reason::kGpuEccError), true));
    const auto charge = blame.report(hour(1), failed(kA2, Reason::kGpuEccError), true);
    EXPECT_EQ(charge.has_value(), tenants == 1);
    EXPECT_FALSE(blame.report(hour(2), failed(kB1, Reason::kCoreDump), true)) << "another reason";
    const auto last = blame.report(hour(3), failed(kB1, Reason::kGpuEccError), true);
    ASSERT_EQ(last.has_value(), tenants == 2);
    if (!last) continue;
    EXPECT_EQ(last->grade, EvidenceGrade::kReported);
    EXPECT_EQ(last->failures, 3);
    EXPECT_EQ(last->users, 3);
    EXPECT_EQ(last->tenants, (std::vector{TenantId(1), TenantId(2)}));
    EXPECT_EQ(last->within, Duration::seconds(3 * 3600));
    EXPECT_EQ(blame.drained_until(kNode), hour(27));
    EXPECT_FALSE(blame.drained(NodeId(0), hour(3)));
  }
}

TEST(NodeBlame, OneUserInTwoTenantsIsOneUser) {
  NodeBlame blame(2, {.tenants = 2});
  EXPECT_FALSE(blame.report(hour(0), failed(kA1, Reason::kGpuEccError), true));
  EXPECT_FALSE(blame.report(hour(1), failed({kA1.user, TenantId(2)}, Reason::kGpuEccError), true));
}

TEST(NodeBlame, EarlyFailuresFollowTheSameRuleForAnyReasons) {
  NodeBlame blame(2, {.drain = Duration::max(), .tenants = 2});
  EXPECT_FALSE(blame.report(second(0), died(kA1, Reason::kNoSignature), true));
  EXPECT_FALSE(blame.report(second(1), died(kA2, Reason::kMpiError), true)) << "one tenant";
  const auto charge = blame.report(second(30), died(kB1, Reason::kCoreDump), true);
  ASSERT_TRUE(charge);
  EXPECT_TRUE(charge->young);
  EXPECT_EQ(charge->failures, 3);
  EXPECT_EQ(charge->reason, Reason::kCoreDump);
  EXPECT_EQ(blame.drained_until(kNode), Instant::never());
  EXPECT_FALSE(blame.report(hour(9), died(kB1, Reason::kCoreDump), true)) << "drained already";
  blame.pardon(kNode);
  EXPECT_FALSE(blame.report(hour(9), died(kB1, Reason::kCoreDump), true)) << "it starts again";
  EXPECT_TRUE(blame.report(hour(9), died(kA1, Reason::kCoreDump), true));
}

TEST(NodeBlame, EarlyFailuresCountOnlyTogetherSoonAndIfTheProgramMayBeInnocent) {
  NodeBlame blame(2, {});
  const auto dies = [&](std::int64_t at, const Who& who, Reason reason, std::int64_t ran) {
    return blame.report(second(at), died(who, reason, Duration::seconds(ran)), true).has_value();
  };
  EXPECT_FALSE(dies(0, kA1, Reason::kNoSignature, 60));
  EXPECT_FALSE(dies(601, kB1, Reason::kNoSignature, 60)) << "ten minutes later";
  EXPECT_FALSE(dies(602, kA1, Reason::kNoSignature, 61)) << "it ran long enough";
  EXPECT_FALSE(dies(603, kA1, Reason::kImportError, 1)) << "certainly the fault of the program";
  EXPECT_FALSE(dies(604, kA1, Reason::kPreempted, 1));
  NodeReport gang = died(kA1, Reason::kNoSignature);
  gang.alone = false;
  EXPECT_FALSE(blame.report(second(604), gang, true)) << "it may be another node of the gang";
  blame.succeeded(kNode);
  EXPECT_FALSE(dies(605, kA1, Reason::kNoSignature, 1)) << "a job has succeeded in between";
  EXPECT_TRUE(dies(606, kB1, Reason::kMpiError, 0));
}

TEST(NodeBlame, ForgetsWhatIsOlderThanTheWindow) {
  NodeBlame blame(2, {});
  EXPECT_FALSE(blame.report(hour(0), failed(kA1, Reason::kGpuEccError), true));
  EXPECT_FALSE(blame.report(hour(25), failed(kB1, Reason::kGpuEccError), true));
  EXPECT_TRUE(blame.report(hour(26), failed(kA1, Reason::kGpuEccError), true));
  NodeBlame other(2, {});
  EXPECT_FALSE(other.measured(hour(0), kNode, "Xid 79"));
  EXPECT_FALSE(other.measured(hour(25), kNode, "Xid 79"));
  EXPECT_TRUE(other.measured(hour(26), kNode, "Xid 79"));
}

TEST(NodeBlame, FailuresOfTheProgramDoNotCount) {
  NodeBlame blame(2, {});
  for (const ReasonInfo& info : reasons()) {
    const bool counts = info.nature == RetryClass::kNode || info.nature == RetryClass::kSuspect;
    if (counts && info.reason != Reason::kNoSignature) continue;
    for (const Who& who : {kA1, kB1, kA1, kB1}) {
      EXPECT_FALSE(blame.report(hour(1), failed(who, info.reason), true)) << info.name;
    }
  }
}

TEST(NodeBlame, ReportsThatMayNotCloseTheNodeStayRecorded) {
  NodeBlame blame(2, {});
  EXPECT_FALSE(blame.report(hour(0), failed(kA1, Reason::kCoreDump), false));
  EXPECT_FALSE(blame.report(hour(1), failed(kB1, Reason::kCoreDump), false));
  EXPECT_TRUE(blame.closed_by_reports(hour(1)).empty());
  EXPECT_TRUE(blame.report(hour(2), failed(kB1, Reason::kCoreDump), true));
  EXPECT_EQ(blame.closed_by_reports(hour(2)), std::vector{kNode});
  EXPECT_TRUE(blame.closed_by_reports(hour(3)).empty());
}

TEST(NodeBlame, TwoMeasuredEventsAreSufficient) {
  NodeBlame blame(2, {.tenants = 2});
  EXPECT_FALSE(blame.measured(second(0), kNode, "Xid 79"));
  EXPECT_FALSE(blame.measured(second(1), NodeId(0), "Xid 79")) << "another node";
  const auto charge = blame.measured(second(120), kNode, "Xid 79");
  ASSERT_TRUE(charge);
  EXPECT_EQ(charge->grade, EvidenceGrade::kMeasured);
  EXPECT_EQ(charge->what, "Xid 79 twice");
  EXPECT_EQ(charge->within, Duration::seconds(120));
  EXPECT_TRUE(blame.closed_by_reports(second(120)).empty());
  EXPECT_FALSE(blame.measured(second(121), kNode, "Xid 79")) << "drained already";
}

TEST(NodeBlame, AnAttemptWithMeasuredEvidenceIsAnEvent) {
  NodeBlame blame(2, {.tenants = 2});
  EXPECT_FALSE(blame.report(hour(0), by_hardware(failed(kA1, Reason::kGpuEccError)), false));
  const auto charge =
      blame.report(hour(1), by_hardware(failed(kA1, Reason::kCudaInitFailed)), false);
  ASSERT_TRUE(charge) << "one user, and reports could not close it";
  EXPECT_EQ(charge->what, "GPU ECC error, CUDA init failed");
}

TEST(NodeBlame, AMeasuredEventConfirmsReportsBeforeAndAfterIt) {
  for (const std::int64_t at : {0, 40, 160, 200}) {
    NodeBlame blame(2, {.tenants = 2});
    const bool is_near = at == 40 || at == 160;
    std::optional<Charge> charge;
    if (at < 100) charge = blame.report(second(at), failed(kA1, Reason::kCudaFailure), false);
    EXPECT_FALSE(charge);
    charge = blame.measured(second(100), kNode, "Xid 79");
    if (at > 100) {
      EXPECT_FALSE(charge);
      charge = blame.report(second(at), failed(kA1, Reason::kCudaFailure), false);
    }
    ASSERT_EQ(charge.has_value(), is_near) << at;
    if (!charge) continue;
    EXPECT_EQ(charge->grade, EvidenceGrade::kMeasured);
    EXPECT_EQ(charge->what, "Xid 79, 1 confirmed report");
    EXPECT_EQ(charge->within, Duration::seconds(60));
  }
}

// Reports of two tenants, and a passed test, at this hour.
void refute(NodeBlame& blame, std::int64_t at, const Who& other) {
  EXPECT_FALSE(blame.report(hour(at), failed(kA1, Reason::kCoreDump), true));
  EXPECT_TRUE(blame.report(hour(at), failed(other, Reason::kCoreDump), true));
  blame.test_passed(hour(at), kNode);
  blame.pardon(kNode);
}

TEST(NodeBlame, ATenantWhoseReportsWereRefutedThreeTimesIsNotCountedForADay) {
  NodeBlame blame(2, {.tenants = 2});
  refute(blame, 1, kB1);
  refute(blame, 2, kB1);
  EXPECT_FALSE(blame.is_ignored(kA1.tenant, hour(2)));
  refute(blame, 3, {UserId(4), TenantId(3)});
  EXPECT_TRUE(blame.is_ignored(kA1.tenant, hour(3)));
  EXPECT_FALSE(blame.is_ignored(kB1.tenant, hour(3))) << "only twice";
  EXPECT_FALSE(blame.report(hour(4), failed(kA1, Reason::kCoreDump), true));
  EXPECT_FALSE(blame.report(hour(5), failed(kB1, Reason::kCoreDump), true))
      << "that of kA1 is ignored";
  EXPECT_TRUE(blame.report(hour(6), failed({UserId(4), TenantId(3)}, Reason::kCoreDump), true))
      << "others count";
  blame.pardon(kNode);
  EXPECT_FALSE(blame.is_ignored(kA1.tenant, hour(27)));
  EXPECT_FALSE(blame.report(hour(28), failed(kB1, Reason::kCoreDump), true));
  EXPECT_TRUE(blame.report(hour(28), failed(kA1, Reason::kCoreDump), true));
}

TEST(NodeBlame, MeasuredEvidenceOrAnOperatorPreventsARefutation) {
  for (const bool by_operator : {false, true}) {
    NodeBlame blame(2, {.tenants = 2});
    for (std::int64_t at = 1; at <= 5; ++at) {
      EXPECT_FALSE(blame.report(hour(at), failed(kA1, Reason::kCoreDump), true));
      EXPECT_TRUE(blame.report(hour(at), failed(kB1, Reason::kCoreDump), true));
      by_operator ? blame.pardon(kNode) : blame.confirm(kNode);
      blame.test_passed(hour(at), kNode);
      blame.pardon(kNode);
    }
    EXPECT_FALSE(blame.is_ignored(kA1.tenant, hour(5)));
  }
}

TEST(NodeBlame, ItsMemorySurvivesARestart) {
  NodeBlame blame(3, {.tenants = 2});
  refute(blame, 1, kB1);
  refute(blame, 2, kB1);
  EXPECT_FALSE(blame.measured(hour(3), NodeId(2), "Xid 79"));
  EXPECT_FALSE(blame.report(hour(3), failed(kA1, Reason::kCoreDump), true));
  EXPECT_TRUE(blame.report(hour(3), failed(kB1, Reason::kCoreDump), true));
  NodeBlame again(3, {.tenants = 2});
  again.restore(blame.memory(hour(3)));
  EXPECT_EQ(again.closed_by_reports(hour(3)), std::vector{kNode});
  again.test_passed(hour(4), kNode);
  EXPECT_TRUE(again.is_ignored(kA1.tenant, hour(4))) << "the third time";
  EXPECT_TRUE(again.measured(hour(4), NodeId(2), "Xid 79"));
  EXPECT_TRUE(again.memory(hour(40)).empty());
}

// Random evidence, compared with a reference that keeps everything.
TEST(NodeBlame, DecidesAsTheReference) {
  const std::uint64_t seeds = campaign_size(200, 5000);
  int by_grade[2] = {};
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    Random random(seed);
    NodeBlameOptions options;
    options.tenants = 1 + static_cast<int>(random.below(2));
    options.drain = Duration::max();
    NodeBlame blame(3, options);
    node_blame_testing::Reference reference(3, options);
    Instant now;
    for (int i = 0; i < 120; ++i) {
      now = now + Duration::seconds(static_cast<std::int64_t>(
                      random.below(2) == 0 ? random.below(100) : random.below(20'000)));
      const NodeId node(random.below(3));
      if (random.below(8) == 0) {
        const bool passed = random.below(2) == 0;
        if (passed) blame.test_passed(now, node);
        blame.pardon(node);
        reference.reopen(now, node, passed);
        continue;
      }
      std::optional<Charge> charge;
      std::optional<EvidenceGrade> expected;
      if (random.below(6) == 0) {
        charge = blame.measured(now, node, "Xid 79");
        expected = reference.measured(now, node);
      } else {
        const std::uint64_t user = random.below(5);
        constexpr Reason kReasons[] = {Reason::kCoreDump, Reason::kGpuEccError,
                                       Reason::kNoSignature, Reason::kImportError};
        NodeReport report = failed({UserId(user), TenantId(user / 2)}, kReasons[random.below(4)]);
        report.node = node;
        if (random.below(3) == 0) report.ran = Duration::seconds(5);
        const bool may_close = random.below(4) != 0;
        charge = blame.report(now, report, may_close);
        expected = reference.report(now, report, may_close);
      }
      ASSERT_EQ(charge.has_value(), expected.has_value()) << "seed " << seed << ", step " << i;
      if (!charge) continue;
      ASSERT_EQ(charge->grade, *expected) << "seed " << seed << ", step " << i;
      ++by_grade[static_cast<int>(charge->grade)];
    }
  }
  EXPECT_GT(by_grade[0], static_cast<int>(seeds));
  EXPECT_GT(by_grade[1], static_cast<int>(seeds));
}

}  // namespace
}  // namespace muster
