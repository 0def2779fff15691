// An engine that is given the decisions of another for the same events gets to the same state.

#include <gtest/gtest.h>

#include "engine/core/engine_testing.h"
#include "engine/planner/recorded_planner.h"

namespace muster {
namespace {

class EngineRepeatTest : public EngineTest {
 protected:
  EngineRepeatTest() { use(EngineOptions()); }

  void use(EngineOptions options) {
    options.record_plans = true;
    build(options);
    other_ = std::make_unique<Engine>(
        cluster_, std::make_unique<RecordedPlanner>(planner_->wants_reports()), options);
  }
  std::string both(std::int64_t now, const std::vector<Event>& events, Script script = nullptr) {
    const std::string text = at(now, events, std::move(script));
    const auto actions = other_->repeat(Instant::micros(now), events, engine_->decisions());
    EXPECT_TRUE(actions.ok()) << actions.error().message;
    other_->state().check_invariants();
    EXPECT_EQ(other_->digest(), engine_->digest()) << text;
    EXPECT_EQ(other_->state().placed, engine_->state().placed);
    return text;
  }

  std::unique_ptr<Engine> other_;
};

TEST_F(EngineRepeatTest, TwoJobsChangePlaces) {
  both(0, {submit(), submit()}, [](const View&, Draft& draft) {
    EXPECT_TRUE(draft.start(JobId(0), kLeft));
    EXPECT_TRUE(draft.start(JobId(1), kRight));
  });
  both(1, {LeaseStarted{JobId(0), 1}, LeaseStarted{JobId(1), 1}});
  EXPECT_EQ(both(2, {submit(1)},
                 [](const View&, Draft& draft) {
                   EXPECT_TRUE(draft.stop(JobId(1)));
                   EXPECT_TRUE(draft.replace(JobId(0), kRight));
                   EXPECT_TRUE(draft.start(JobId(1), kLeft));
                 }),
            "stop 1.1, stop 0.1");
  both(3, {LeaseEnded{JobId(0), 1, kStopped}});
  EXPECT_EQ(both(4, {LeaseEnded{JobId(1), 1, kStopped}}), "start 1.2, start 0.2");
}

TEST_F(EngineRepeatTest, APromiseIsKeptAndTakenBack) {
  both(0, {submit()}, start(JobId(0), kLeft));
  both(1, {LeaseStarted{JobId(0), 1}});
  EXPECT_EQ(both(2, {submit()}, swap_in(JobId(0), JobId(1), kLeft)), "stop 0.1");
  ASSERT_NE(other_->state().promised(JobId(1)), nullptr);
  EXPECT_EQ(both(3, {submit()}, swap_in(JobId(1), JobId(2), kLeft)), "");
  EXPECT_EQ(other_->state().promised(JobId(1)), nullptr);
  EXPECT_EQ(both(4, {LeaseEnded{JobId(0), 1, kStopped}}), "start 2.1");
}

TEST_F(EngineRepeatTest, AResizeWaitsForANeighbor) {
  const Placement part = {{NodeId(0), 0b01, 2000, 60'000, 60'000}};
  const Placement beside = {{NodeId(0), 0b10, 2000, 60'000, 60'000}};
  const Placement more = {{NodeId(0), 0b01, 5000, 60'000, 60'000}};
  both(0, {submit(1), submit(1)}, [&](const View&, Draft& draft) {
    EXPECT_TRUE(draft.start(JobId(0), part));
    EXPECT_TRUE(draft.start(JobId(1), beside));
  });
  both(1, {LeaseStarted{JobId(0), 1}, LeaseStarted{JobId(1), 1}});
  EXPECT_EQ(both(2, {submit(4)},
                 [&](const View&, Draft& draft) {
                   EXPECT_TRUE(draft.stop(JobId(1)));
                   EXPECT_TRUE(draft.replace(JobId(0), more));
                   EXPECT_TRUE(draft.start(JobId(1), kRight) || true);
                 }),
            "stop 1.1");
  EXPECT_EQ(both(3, {LeaseEnded{JobId(1), 1, kStopped}}).substr(0, 6), "resize");
}

TEST_F(EngineRepeatTest, RejectionsAndReactionsAreThoseThatWereGiven) {
  EngineOptions options;
  options.retry = RetryPolicy::adaptive();
  options.nodes.strikes = 1;
  options.nodes.users = 1;
  use(options);
  both(0, {submit(), submit(9)}, start(JobId(0), kLeft));
  EXPECT_EQ(other_->why_rejected(JobId(1)), "no 9 GPUs here");
  both(1, {LeaseStarted{JobId(0), 1}});
  AttemptFailed failed{JobId(0), 1, Reason::kCudaFailure, Duration::seconds(90)};
  failed.told = SignatureReaction{Reaction::kRetryElsewhere, Bucket::kInfrastructure};
  both(2, {failed});
  ASSERT_EQ(other_->reactions().size(), 1U);
  EXPECT_EQ(engine_->quarantines().size(), 1U);
  EXPECT_EQ(other_->quarantines().size(), engine_->quarantines().size());
  EXPECT_EQ(other_->state().closed_count, engine_->state().closed_count);

  // The same with a verdict that this engine would not reach.
  Decisions given;
  given.reactions.push_back({JobId(0), 2, Reason::kCudaFailure, {}, {}});
  given.reactions[0].verdict.next = Verdict::Next::kStop;
  both(3, {TimerFired{}, submit(1)}, start(JobId(0), kRight));
  both(4, {LeaseStarted{JobId(0), 2}});
  failed.epoch = 2;
  const std::vector<Event> events = {failed};
  const auto actions = other_->repeat(Instant::micros(5), events, given);
  ASSERT_TRUE(actions.ok()) << actions.error().message;
  EXPECT_EQ(other_->state().jobs[JobId(0)].state, JobState::kFailed);
}

// A job of an earlier era avoids the node that it failed on for a while. The engine that repeats
// does not know that, but must count the GPUs next to external jobs again when the time has passed.
TEST_F(EngineRepeatTest, ARestoredJobStopsAvoidingANode) {
  Topology topology;
  ASSERT_FALSE(topology.add_node("n0", "r", "gpu", {4, 16'000, 128'000, 125'000}));
  ASSERT_FALSE(topology.add_node("n1", "r", "gpu", {4, 16'000, 128'000, 125'000}));
  const Cluster cluster(topology, profiles_);
  EngineOptions options;
  options.record_plans = true;
  options.retry = RetryPolicy::adaptive();
  planner_ = new ScriptedPlanner;
  planner_->can_avoid = true;
  engine_ = std::make_unique<Engine>(cluster, std::unique_ptr<ScriptedPlanner>(planner_), options);
  other_ = std::make_unique<Engine>(
      cluster, std::make_unique<RecordedPlanner>(planner_->wants_reports()), options);
  JobRestored restored;
  restored.spec.gpus = 4;
  restored.failures = {{Reason::kCudaFailure,
                        {NodeId(1)},
                        SignatureReaction{Reaction::kRetryElsewhere, Bucket::kInfrastructure}}};
  JobSubmitted demanding = submit(1);
  demanding.spec.least.cpu_milli = 8'000;
  both(0, {restored, NodeTaken{NodeId(0), {1, 4'000, 0, 0}}, demanding},
       start(JobId(1), {{NodeId(0), 0b10, 8'000, 32'000, 0}}));
  EXPECT_EQ(engine_->state().blocked[NodeId(0)].slots, 0b1U);
  both(Engine::kPatience.us(), {});
  EXPECT_EQ(engine_->state().blocked[NodeId(0)].slots, 0b101U);
  EXPECT_EQ(other_->state().blocked[NodeId(0)].slots, 0b101U);
  engine_.reset();
  other_.reset();
}

}  // namespace
}  // namespace muster
