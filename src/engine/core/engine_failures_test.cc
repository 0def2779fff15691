// The engine with failed attempts, and with nodes that close and open.

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/types/check.h"
#include "engine/core/engine.h"

namespace muster {
namespace {

// Starts the oldest waiting job on the first free node that it may use. Each job takes a whole
// node.
class OneEach final : public Planner {
 public:
  std::optional<std::string> refuse(const JobSpec&) override { return std::nullopt; }
  void enqueue(const View&, JobId job) override { waiting_.insert(job); }
  void forget(const View&, JobId job, JobExit) override { waiting_.erase(job); }
  bool drifts() const override { return false; }
  void plan(const View&, Draft& draft, PlanTrigger) override {
    for (auto job = waiting_.begin(); job != waiting_.end();) {
      bool started = false;
      for (std::uint32_t node = 0; node < 2 && !started; ++node) {
        started = draft.start(*job, {{NodeId(node), 0b11, 6000, 128'000, 125'000}});
      }
      job = started ? waiting_.erase(job) : std::next(job);
    }
  }

 private:
  std::set<JobId> waiting_;
};

// The same, but respects avoided nodes.
class Elsewhere final : public Planner {
 public:
  std::optional<std::string> refuse(const JobSpec&) override { return std::nullopt; }
  bool could_avoid(const JobSpec&, std::span<const NodeId> nodes) const override {
    return nodes.size() < 2;
  }
  void enqueue(const View& view, JobId job) override {
    const std::span<const NodeId> avoided = view.avoided(job);
    waiting_[job] = {avoided.begin(), avoided.end()};
  }
  void forget(const View&, JobId job, JobExit) override { waiting_.erase(job); }
  bool drifts() const override { return false; }
  void plan(const View&, Draft& draft, PlanTrigger) override {
    for (auto job = waiting_.begin(); job != waiting_.end();) {
      bool started = false;
      for (std::uint32_t node = 0; node < 2 && !started; ++node) {
        if (job->second.contains(NodeId(node))) continue;
        started = draft.start(job->first, {{NodeId(node), 0b11, 6000, 128'000, 125'000}});
      }
      job = started ? waiting_.erase(job) : std::next(job);
    }
  }

 private:
  std::map<JobId, std::set<NodeId>> waiting_;
};

class Failures : public testing::Test {
 protected:
  template <class Scheduler = OneEach>
  void build(const RetryPolicy& retry, const NodeBlameOptions& nodes = {}) {
    EngineOptions options;
    options.retry = retry;
    options.nodes = nodes;
    options.checkpoint_interval = Duration::seconds(10);
    engine_ = std::make_unique<Engine>(cluster_, std::make_unique<Scheduler>(), options);
  }

  // Times are in whole seconds: "start 0.1 on 0, give up 1.2, wake 60".
  std::string at(std::int64_t second, const std::vector<Event>& events) {
    std::string text;
    for (const Action& action : engine_->step(Instant::at(Duration::seconds(second)), events)) {
      if (!text.empty()) text += ", ";
      const std::string lease =
          std::to_string(action.job.index()) + "." + std::to_string(action.epoch);
      switch (action.kind) {
        case Action::Kind::kStart:
          text += "start " + lease + " on " +
                  std::to_string(engine_->lease(action.job).placement.front().node.index());
          break;
        case Action::Kind::kStop:
          text += "stop " + lease;
          break;
        case Action::Kind::kGiveUp:
          text += "give up " + lease;
          break;
        case Action::Kind::kWakeAt:
          text += action.at == Instant::never()
                      ? "wake never"
                      : "wake " + std::to_string(action.at.us() / 1'000'000);
          break;
        default:
          text += "?";
      }
    }
    engine_->state().check_invariants();
    return text;
  }

  static JobSubmitted job(std::uint32_t user = 0) {
    JobSpec spec;
    spec.gpus = 2;
    spec.user = UserId(user);
    return {spec};
  }
  // Soon after its start.
  static AttemptFailed died(std::uint32_t id, Epoch epoch, Reason reason) {
    return {JobId(id), epoch, reason, Duration::seconds(3)};
  }
  static AttemptFailed failed(std::uint32_t id, Epoch epoch, Reason reason) {
    return {JobId(id), epoch, reason};
  }
  const Job& row(std::uint32_t id) const { return engine_->state().jobs[JobId(id)]; }

  static Topology two_nodes() {
    Topology topology;
    for (const char* const name : {"s0", "s1"}) {
      MUSTER_CHECK(!topology.add_node(name, "r", "gpu", {2, 6000, 128'000, 125'000}));
    }
    return topology;
  }
  const Topology topology_ = two_nodes();
  const ProfileTable profiles_;
  const Cluster cluster_{topology_, profiles_};
  std::unique_ptr<Engine> engine_;
};

TEST_F(Failures, WithoutRetriesAFailedJobHasFailed) {
  build(RetryPolicy::none());
  EXPECT_EQ(at(0, {job()}), "start 0.1 on 0");
  EXPECT_EQ(at(5, {failed(0, 1, Reason::kMpiError)}), "give up 0.1");
  EXPECT_EQ(row(0).state, JobState::kFailed);
  EXPECT_EQ(engine_->state().ledger.free_gpus(), 4);
  EXPECT_EQ(at(6, {failed(0, 1, Reason::kMpiError)}), "");  // Stale.
}

TEST_F(Failures, FixedRetriesGoOnAtOnceAndThenGiveUp) {
  build(RetryPolicy::fixed(2));
  EXPECT_EQ(at(0, {job()}), "start 0.1 on 0");
  EXPECT_EQ(at(1, {failed(0, 1, Reason::kSyntaxError)}), "start 0.2 on 0");
  EXPECT_EQ(at(2, {failed(0, 2, Reason::kSyntaxError)}), "start 0.3 on 0");
  EXPECT_EQ(at(3, {failed(0, 3, Reason::kSyntaxError)}), "give up 0.3");
}

TEST_F(Failures, WorkSinceTheLastCheckpointIsLost) {
  build(RetryPolicy::fixed(1));
  EXPECT_EQ(at(0, {job()}), "start 0.1 on 0");
  EXPECT_EQ(at(2, {LeaseStarted{JobId(0), 1}}), "");
  EXPECT_EQ(at(27, {failed(0, 1, Reason::kMpiError)}), "start 0.2 on 0");
  EXPECT_EQ(row(0).work_done, Duration::seconds(20));  // Of 25 s: two intervals of 10 s.
}

TEST_F(Failures, AdaptiveParksAJobWhoseTroublePasses) {
  build(RetryPolicy::adaptive());
  EXPECT_EQ(at(0, {job()}), "start 0.1 on 0");
  EXPECT_EQ(at(5, {failed(0, 1, Reason::kMpiError)}), "wake 65");
  EXPECT_EQ(row(0).state, JobState::kBackOff);
  EXPECT_EQ(at(30, {job()}), "start 1.1 on 0");  // Other jobs start in the meantime.
  EXPECT_EQ(at(65, {TimerFired{}}), "start 0.2 on 1, wake never");
  EXPECT_EQ(at(70, {failed(0, 2, Reason::kMpiError)}), "wake 190");  // Twice as long.
  EXPECT_EQ(at(80, {JobCancelled{JobId(0)}}), "");
  EXPECT_EQ(at(190, {TimerFired{}}), "wake never");
  EXPECT_EQ(row(0).state, JobState::kCancelled);
}

TEST_F(Failures, AdaptiveDoesNotRetryWhatNoRetryCanFix) {
  build(RetryPolicy::adaptive());
  EXPECT_EQ(at(0, {job()}), "start 0.1 on 0");
  EXPECT_EQ(at(5, {failed(0, 1, Reason::kSyntaxError)}), "give up 0.1");
}

TEST_F(Failures, AServerThatStrikesOutIsDrainedForADay) {
  build(RetryPolicy::adaptive());
  const auto measured = [](Epoch epoch) {
    AttemptFailed event = failed(0, epoch, Reason::kGpuEccError);
    event.grade = EvidenceGrade::kMeasured;
    return event;
  };
  EXPECT_EQ(at(0, {job()}), "start 0.1 on 0");
  EXPECT_EQ(at(5, {measured(1)}), "start 0.2 on 0");
  EXPECT_EQ(at(9, {measured(2)}), "start 0.3 on 1, wake 86409");
  EXPECT_EQ(at(20, {job()}), "");  // Only the other node is left.
  EXPECT_EQ(at(86'409, {TimerFired{}}), "start 1.1 on 0, wake never");
}

TEST_F(Failures, ASuspectGoesOnElsewhere) {
  build<Elsewhere>(RetryPolicy::adaptive());
  EXPECT_EQ(at(0, {job()}), "start 0.1 on 0");
  EXPECT_EQ(at(5, {failed(0, 1, Reason::kCoreDump)}), "start 0.2 on 1");
  ASSERT_EQ(engine_->reactions().size(), 1U);
  const FailureDecision& reaction = engine_->reactions().front();
  EXPECT_EQ(reaction.job, JobId(0));
  EXPECT_EQ(reaction.reason, Reason::kCoreDump);
  EXPECT_EQ(reaction.verdict.next, Verdict::Next::kRetryElsewhere);
  EXPECT_EQ(reaction.avoided, std::vector<NodeId>{NodeId(0)});
  EXPECT_EQ(at(6, {LeaseStarted{JobId(0), 2}}), "");
  EXPECT_TRUE(engine_->reactions().empty());
  EXPECT_EQ(at(9, {LeaseEnded{JobId(0), 2, LeaseOutcome::kCompleted}}), "");
  EXPECT_TRUE(engine_->state().avoided.empty());
}

TEST_F(Failures, WhoFindsOtherServersFullWaitsForThemForAWhileOnly) {
  build<Elsewhere>(RetryPolicy::adaptive());
  EXPECT_EQ(at(0, {job(), job()}), "start 0.1 on 0, start 1.1 on 1");
  EXPECT_EQ(at(5, {failed(0, 1, Reason::kCoreDump)}), "wake 605");
  EXPECT_EQ(at(20, {job()}), "start 2.1 on 0");  // Other jobs use that node.
  EXPECT_EQ(at(30, {LeaseEnded{JobId(2), 1, LeaseOutcome::kCompleted}}), "");
  EXPECT_EQ(at(605, {TimerFired{}}), "start 0.2 on 0, wake never");
}

TEST_F(Failures, OnceItsOtherServerIsFreeItWaitsNoMore) {
  build<Elsewhere>(RetryPolicy::adaptive());
  EXPECT_EQ(at(0, {job(), job()}), "start 0.1 on 0, start 1.1 on 1");
  EXPECT_EQ(at(5, {failed(0, 1, Reason::kCoreDump)}), "wake 605");
  EXPECT_EQ(at(30, {LeaseEnded{JobId(1), 1, LeaseOutcome::kCompleted}}),
            "start 0.2 on 1, wake never");
  // Stopped for another job, it still avoids the node on which it failed, and waits for the same
  // time again.
  EXPECT_EQ(at(40, {NodeClosed{NodeId(1)}}), "");
  EXPECT_EQ(at(50, {LeaseEnded{JobId(0), 2, LeaseOutcome::kStopped}}), "wake 650");
  EXPECT_EQ(at(60, {JobCancelled{JobId(0)}}), "wake never");
}

TEST_F(Failures, WhatIsClosedIsNoOtherServer) {
  build<Elsewhere>(RetryPolicy::adaptive());
  EXPECT_EQ(at(0, {job(), NodeClosed{NodeId(1)}}), "start 0.1 on 0");
  EXPECT_EQ(at(5, {failed(0, 1, Reason::kCoreDump)}), "start 0.2 on 0");
  EXPECT_TRUE(engine_->reactions().front().avoided.empty());
}

TEST_F(Failures, WhatComesFromAnotherEngineAvoidsTheSame) {
  build<Elsewhere>(RetryPolicy::adaptive());
  JobRestored back;
  back.spec.gpus = 2;
  back.failures = {{Reason::kCoreDump, {NodeId(0)}}};
  EXPECT_EQ(at(5, {back}), "start 0.1 on 1");
}

TEST_F(Failures, AServerOnWhichTwoUsersDieYoungIsClosedUntilSomebodyOpensIt) {
  build(RetryPolicy::adaptive(), {.drain = Duration::max()});
  EXPECT_EQ(at(0, {job(1)}), "start 0.1 on 0");
  EXPECT_EQ(at(5, {died(0, 1, Reason::kMpiError)}), "wake 65");
  EXPECT_TRUE(engine_->quarantines().empty());
  EXPECT_EQ(at(6, {job(2)}), "start 1.1 on 0");
  EXPECT_EQ(at(9, {died(1, 1, Reason::kNoSignature)}), "start 1.2 on 1");
  ASSERT_EQ(engine_->quarantines().size(), 1U);
  EXPECT_EQ(engine_->quarantines().front().node, NodeId(0));
  EXPECT_EQ(engine_->quarantines().front().charge.users, 2);
  EXPECT_EQ(at(65, {TimerFired{}}), "wake never");
  EXPECT_EQ(at(100'000, {NodeOpened{NodeId(0)}}), "start 0.2 on 0");
}

TEST_F(Failures, TheLastServerIsNotClosedForWhatMayBeTheJobsFault) {
  build(RetryPolicy::adaptive());
  EXPECT_EQ(at(0, {job(1), NodeClosed{NodeId(1)}}), "start 0.1 on 0");
  EXPECT_EQ(at(5, {died(0, 1, Reason::kCoreDump), JobCancelled{JobId(0)}, job(2)}),
            "start 1.1 on 0");
  EXPECT_EQ(at(9, {died(1, 1, Reason::kCoreDump)}), "start 1.2 on 0");
  EXPECT_TRUE(engine_->quarantines().empty());
}

TEST_F(Failures, WhoseLeaseWasLostWaitsAsLongAsTheDriverSays) {
  build(RetryPolicy::none());
  EXPECT_EQ(at(0, {job()}), "start 0.1 on 0");
  EXPECT_EQ(at(1, {LeaseStarted{JobId(0), 1}}), "");
  EXPECT_EQ(at(14, {LeaseLost{JobId(0), 1, Duration::seconds(2)}}), "wake 16");
  EXPECT_EQ(row(0).state, JobState::kBackOff);
  EXPECT_EQ(row(0).work_done, Duration::seconds(10));
  EXPECT_TRUE(engine_->failures(JobId(0)).empty());
  EXPECT_EQ(at(16, {TimerFired{}}), "start 0.2 on 0, wake never");
  EXPECT_EQ(at(17, {LeaseLost{JobId(0), 1, Duration::seconds(2)}}), "");  // Stale.
  EXPECT_EQ(at(18, {LeaseLost{JobId(0), 2, Duration()}}), "start 0.3 on 0");
}

TEST_F(Failures, AClosedServerTakesNobodyUntilItOpens) {
  build(RetryPolicy::none());
  EXPECT_EQ(at(0, {job(), NodeClosed{NodeId(0)}}), "start 0.1 on 1");
  EXPECT_EQ(at(1, {job(), NodeClosed{NodeId(0)}}), "");
  EXPECT_EQ(at(2, {NodeOpened{NodeId(0)}}), "start 1.1 on 0");
  EXPECT_EQ(at(3, {NodeOpened{NodeId(0)}, NodeClosed{NodeId(9)}}), "");  // Nothing to do.
}

TEST_F(Failures, AJobOnALostServerGoesOnElsewhereFromItsCheckpoint) {
  build(RetryPolicy::none());
  EXPECT_EQ(at(0, {job()}), "start 0.1 on 0");
  EXPECT_EQ(at(1, {LeaseStarted{JobId(0), 1}}), "");
  EXPECT_EQ(at(14, {LeaseEnded{JobId(0), 1, LeaseOutcome::kStopped}, NodeClosed{NodeId(0)}}),
            "start 0.2 on 1");
  EXPECT_EQ(row(0).work_done, Duration::seconds(10));
  EXPECT_EQ(engine_->state().ledger.free_gpus(), 0);
}

TEST_F(Failures, ALeaseOnlyPromisedOnAClosedServerIsTakenBack) {
  build(RetryPolicy::none());
  EXPECT_EQ(at(0, {job(), job()}), "start 0.1 on 0, start 1.1 on 1");
  EXPECT_EQ(at(1, {JobCancelled{JobId(0)}, job()}), "stop 0.1");  // Job 2 waits for its nodes.
  EXPECT_EQ(row(2).state, JobState::kPlaced);
  EXPECT_EQ(at(2, {NodeClosed{NodeId(0)}}), "");
  EXPECT_EQ(row(2).state, JobState::kWaiting);
  EXPECT_EQ(at(3, {LeaseEnded{JobId(0), 1, LeaseOutcome::kStopped}}), "");
  EXPECT_EQ(at(4, {LeaseEnded{JobId(1), 1, LeaseOutcome::kCompleted}}), "start 2.2 on 1");
}

}  // namespace
}  // namespace muster
