// Quarantines by reported and by measured evidence, with several nodes, users and tenants.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/types/check.h"
#include "base/types/random.h"
#include "campaign.h"
#include "engine/core/engine.h"

namespace muster {
namespace {

// Starts each waiting job on the node that the test has chosen for it.
class ChosenNode final : public Planner {
 public:
  explicit ChosenNode(const NodeId& node) : node_(node) {}
  std::optional<std::string> refuse(const JobSpec&) override { return std::nullopt; }
  void enqueue(const View&, JobId job) override { waiting_.insert(job); }
  void forget(const View&, JobId job, JobExit) override { waiting_.erase(job); }
  bool drifts() const override { return false; }
  void plan(const View&, Draft& draft, PlanTrigger) override {
    std::erase_if(waiting_, [&](JobId job) {
      return draft.start(job, {{node_, 0b1, 1000, 1000, 1000}});
    });
  }

 private:
  const NodeId& node_;
  std::set<JobId> waiting_;
};

struct Sender {
  std::uint32_t user = 0;
  std::uint32_t tenant = 0;
};
constexpr Sender kAnn{1, 1};
constexpr Sender kAmy{2, 1};  // The tenant of Ann.
constexpr Sender kCarl{3, 2};

class Evidence : public testing::Test {
 protected:
  void build(std::size_t nodes, int tenants = 2) {
    engine_.reset();
    cluster_.reset();
    topology_ = {};
    for (std::size_t i = 0; i < nodes; ++i) {
      const std::string name = "s" + std::to_string(i);
      MUSTER_CHECK(!topology_.add_node(name, "r", "gpu", {1, 1000, 1000, 1000}));
    }
    cluster_ = std::make_unique<Cluster>(topology_, profiles_);
    EngineOptions options;
    options.retry = RetryPolicy::adaptive();
    options.nodes.tenants = tenants;
    options.nodes.drain = Duration::max();
    engine_ = std::make_unique<Engine>(*cluster_, std::make_unique<ChosenNode>(chosen_), options);
  }

  // A job of this sender fails on the node. Returns whether this closes the node.
  bool fails(Duration at, const Sender& sender, std::size_t node, Reason reason,
             Duration ran = Duration::max()) {
    chosen_ = NodeId(node);
    JobSpec spec;
    spec.gpus = 1;
    spec.user = UserId(sender.user);
    spec.tenant = TenantId(sender.tenant);
    const JobId job(jobs_++);
    step(at, {JobSubmitted{spec}});
    if (engine_->state().jobs[job].lease == kNoRow) {
      ADD_FAILURE() << "node " << node << " takes no job at " << at.us() / 1'000'000 << " s";
      return false;
    }
    step(at, {AttemptFailed{job, 1, reason, ran}, JobCancelled{job}});
    return closes(node);
  }
  bool measures(Duration at, std::size_t node) {
    step(at, {NodeEvidence{NodeId(node), "Xid 79"}});
    return closes(node);
  }
  void step(Duration at, const std::vector<Event>& events) {
    engine_->step(Instant::at(at), events);
    engine_->state().check_invariants();
  }
  bool closes(std::size_t node) const {
    return std::any_of(engine_->quarantines().begin(), engine_->quarantines().end(),
                       [&](const Quarantine& each) { return each.node == NodeId(node); });
  }
  bool is_open(std::size_t node) const { return engine_->state().closed[NodeId(node)] == 0; }

  static constexpr Duration kSecond = Duration::seconds(1);
  NodeId chosen_;
  Topology topology_;
  const ProfileTable profiles_;
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<Engine> engine_;
  std::size_t jobs_ = 0;
};

TEST_F(Evidence, TenJobsOfOneUserCloseNoNode) {
  for (const int tenants : {1, 2}) {
    jobs_ = 0;
    build(2, tenants);
    for (int i = 0; i < 10; ++i) {
      EXPECT_FALSE(fails(kSecond * i, kAnn, 0, Reason::kGpuEccError, kSecond));
    }
  }
}

TEST_F(Evidence, TwoUsersOfOneTenantCloseNoNodeIfThereAreSeveralTenants) {
  build(2);
  EXPECT_FALSE(fails(kSecond, kAnn, 0, Reason::kGpuEccError, kSecond));
  EXPECT_FALSE(fails(kSecond, kAmy, 0, Reason::kGpuEccError, kSecond));
  jobs_ = 0;
  build(2, 1);
  EXPECT_FALSE(fails(kSecond, kAnn, 0, Reason::kGpuEccError, kSecond));
  EXPECT_TRUE(fails(kSecond, kAmy, 0, Reason::kGpuEccError, kSecond)) << "there is one tenant";
}

TEST_F(Evidence, TwoUsersOfTwoTenantsCloseANodeButNeverTheLast) {
  build(2);
  EXPECT_FALSE(fails(kSecond, kAnn, 0, Reason::kGpuEccError));
  ASSERT_TRUE(fails(kSecond, kCarl, 0, Reason::kGpuEccError));
  EXPECT_EQ(engine_->quarantines().front().charge.grade, EvidenceGrade::kReported);
  for (int i = 0; i < 100; ++i) {
    const Duration at = Duration::seconds(7200) * (i + 1);
    EXPECT_FALSE(fails(at, kAnn, 1, Reason::kGpuEccError));
    EXPECT_FALSE(fails(at, kCarl, 1, Reason::kGpuEccError, kSecond));
  }
}

TEST_F(Evidence, ReportsCloseAtMostHalfOfTheNodesInAnHour) {
  build(5);
  const auto both = [&](Duration at, std::size_t node) {
    return fails(at, kAnn, node, Reason::kCudaInitFailed) ||
           fails(at, kCarl, node, Reason::kCudaInitFailed);
  };
  EXPECT_TRUE(both(kSecond * 1, 0));
  EXPECT_TRUE(both(kSecond * 1800, 1));
  EXPECT_FALSE(both(kSecond * 1801, 2));
  step(kSecond * 1900, {NodeOpened{NodeId(0), true}});
  EXPECT_FALSE(both(kSecond * 2000, 2)) << "a node that returned still counts";
  EXPECT_TRUE(both(kSecond * 2001, 0)) << "but once";
  EXPECT_FALSE(both(kSecond * 5399, 3));
  EXPECT_TRUE(both(kSecond * 5400, 3)) << "an hour after the second node";
  EXPECT_FALSE(both(kSecond * 5400, 2));
}

TEST_F(Evidence, MeasuredEventsCloseEvenTheLastNode) {
  build(2);
  step(Duration(), {NodeClosed{NodeId(1)}});
  EXPECT_FALSE(measures(kSecond, 0));
  ASSERT_TRUE(measures(kSecond * 120, 0));
  EXPECT_FALSE(engine_->quarantines().front().job);
  EXPECT_EQ(engine_->quarantines().front().charge.what, "Xid 79 twice");
  EXPECT_FALSE(is_open(0));
  step(kSecond * 130, {NodeEvidence{NodeId(7), "Xid 79"}, NodeOpened{NodeId(7), true}});
}

TEST_F(Evidence, AMeasuredEventConfirmsAReportOfOneUserOnTheLastNode) {
  build(1);
  EXPECT_FALSE(fails(kSecond, kAnn, 0, Reason::kGpuEccError));
  EXPECT_TRUE(measures(kSecond * 50, 0)) << "the report came first";
  step(kSecond * 60, {NodeOpened{NodeId(0)}});
  EXPECT_FALSE(measures(kSecond * 100, 0));
  EXPECT_FALSE(fails(kSecond * 161, kAnn, 0, Reason::kGpuEccError)) << "too late";
  EXPECT_TRUE(measures(kSecond * 200, 0));
}

TEST_F(Evidence, AReportStillMovesItsJob) {
  build(2);
  fails(kSecond, kAnn, 0, Reason::kGpuEccError);
  ASSERT_EQ(engine_->reactions().size(), 1U);
  EXPECT_EQ(engine_->reactions().front().verdict.next, Verdict::Next::kRetryElsewhere);
  EXPECT_EQ(engine_->reactions().front().verdict.blames, Verdict::Blames::kNode);
}

TEST_F(Evidence, ARefutedTenantIsNotCountedForADay) {
  build(4);
  for (int i = 1; i <= 3; ++i) {
    fails(kSecond * 4000 * i, kAnn, 0, Reason::kCoreDump);
    EXPECT_TRUE(fails(kSecond * 4000 * i, kCarl, 0, Reason::kCoreDump));
    step(kSecond * 4000 * i, {NodeOpened{NodeId(0), true}});
  }
  fails(kSecond * 16'000, kAnn, 0, Reason::kCoreDump);
  EXPECT_FALSE(fails(kSecond * 16'000, kCarl, 0, Reason::kCoreDump));
  BlameRestored memory{engine_->blame_memory()};
  jobs_ = 0;
  build(4);
  step(kSecond * 16'000, {memory});
  fails(kSecond * 17'000, kAnn, 0, Reason::kCoreDump);
  EXPECT_FALSE(fails(kSecond * 17'000, kCarl, 0, Reason::kCoreDump)) << "a new engine knows it";
  fails(kSecond * 98'400, kAnn, 0, Reason::kCoreDump);
  EXPECT_TRUE(fails(kSecond * 98'400, kCarl, 0, Reason::kCoreDump));
}

// The rules for reports, checked against a full record of a random sequence.
class Rules : public Evidence {
 protected:
  struct Seen {
    Instant at;
    NodeId node;
    Sender sender;
  };

  void run(std::uint64_t seed, bool one_user) {
    Random random(seed);
    const std::size_t nodes = 1 + random.below(6);
    jobs_ = 0;
    build(nodes);
    reports_.clear();
    closings_.clear();
    Duration now;
    for (int i = 0; i < 150; ++i) {
      now = now + kSecond * static_cast<std::int64_t>(random.below(random.below(2) == 0 ? 9 : 900));
      const std::size_t node = random.below(nodes);
      if (!is_open(node)) {
        const bool passed = random.below(2) == 0;
        if (random.below(3) == 0) step(now, {NodeOpened{NodeId(node), passed}});
        continue;
      }
      if (!one_user && random.below(20) == 0) {
        measures(now, node);
        continue;
      }
      const auto user = static_cast<std::uint32_t>(one_user ? 0 : random.below(4));
      const Sender sender{user, user / 2};
      open_before_ = count_open();
      constexpr Reason kReasons[] = {Reason::kGpuEccError, Reason::kCoreDump, Reason::kNoSignature};
      reports_.push_back({Instant::at(now), NodeId(node), sender});
      fails(now, sender, node, kReasons[random.below(3)], kSecond * 90 * (user % 2));
      check(Instant::at(now), one_user);
    }
  }
  std::size_t count_open() const {
    std::size_t open = 0;
    for (std::size_t i = 0; i < topology_.node_count(); ++i) open += is_open(i) ? 1 : 0;
    return open;
  }
  void check(Instant now, bool one_user) {
    for (const Quarantine& each : engine_->quarantines()) {
      ASSERT_FALSE(one_user);
      if (each.charge.grade == EvidenceGrade::kMeasured) continue;
      ++reported;
      ASSERT_GT(open_before_, 1U) << "the last node";
      std::set<std::uint32_t> users;
      std::set<std::uint32_t> tenants;
      for (const Seen& seen : reports_) {
        if (seen.node != each.node || now - seen.at > Duration::seconds(86'400)) continue;
        users.insert(seen.sender.user);
        tenants.insert(seen.sender.tenant);
      }
      ASSERT_TRUE(users.size() >= 2 && tenants.size() >= 2);
      std::set<NodeId> closed = {each.node};
      std::size_t schedulable = open_before_;
      for (const auto& [node, at] : closings_) {
        if (node == each.node || now - at >= Duration::seconds(3600)) continue;
        closed.insert(node);
        if (!is_open(node.index())) ++schedulable;
      }
      ASSERT_LE(2 * closed.size(), schedulable);
      closings_[each.node] = now;
    }
  }

  std::vector<Seen> reports_;
  std::map<NodeId, Instant> closings_;  // The last one by reports.
  std::size_t open_before_ = 0;
  int reported = 0;
};

TEST_F(Rules, HoldForRandomFailures) {
  const std::uint64_t seeds = campaign_size(100, 3000);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    run(seed, false);
    run(seed, true);
    if (HasFatalFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_GT(reported, 50);
}

}  // namespace
}  // namespace muster
