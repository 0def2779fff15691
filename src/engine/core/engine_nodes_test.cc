// Nodes that external jobs use, in the engine.

#include <gtest/gtest.h>

#include "engine/core/engine_testing.h"

namespace muster {
namespace {

class ExternalJobs : public EngineTest {
 protected:
  const ResourceLedger& ledger() const { return engine_->state().ledger; }
  static Script refused(JobId job, const Placement& where) {
    return [=](const View&, Draft& draft) { EXPECT_FALSE(draft.start(job, where)); };
  }
  // Stops job 0 and starts the next job there, if the resources are available.
  static Script swap(const Placement& where, bool had) {
    return [=](const View&, Draft& draft) {
      EXPECT_TRUE(draft.stop(JobId(0)));
      EXPECT_EQ(draft.start(JobId(1), where), had);
    };
  }
  const Placement half_left_ = {{NodeId(0), 0b10, 3000, 64'000, 62'500}};
};

TEST_F(ExternalJobs, HaveWhatTheyHold) {
  EXPECT_EQ(at(0, {NodeTaken{NodeId(0), {1, 2000, 1000, 0}}, submit()}, refused(JobId(0), kLeft)),
            "");
  EXPECT_EQ(ledger().free_gpus(NodeId(0)), 1);
  EXPECT_EQ(ledger().room(NodeId(0)).cpu_milli, 4000);
  EXPECT_EQ(ledger().room(NodeId(0)).mem_mib, 127'000);
  EXPECT_EQ(at(1, {NodeTaken{NodeId(0), {}}}, start(JobId(0), kLeft)), "start 0.1");
}

TEST_F(ExternalJobs, WithCpusOrMemoryLeaveNoGpuWithLessThanItsShare) {
  at(0, {NodeTaken{NodeId(0), {0, 1, 0, 0}}});
  EXPECT_EQ(ledger().free_gpus(NodeId(0)), 1);
  at(1, {NodeTaken{NodeId(0), {0, 0, 64'001, 0}}});
  EXPECT_EQ(ledger().free_gpus(NodeId(0)), 0);
  EXPECT_EQ(ledger().room(NodeId(0)).cpu_milli, 6000);
  at(2, {NodeTaken{NodeId(0), {0, 0, 0, 0}}});
  EXPECT_EQ(ledger().free_gpus(NodeId(0)), 2);
  EXPECT_TRUE(engine_->state().taken.empty());
}

TEST_F(ExternalJobs, NeverHaveMoreThanThereIs) {
  at(0, {NodeTaken{NodeId(0), {9, 1 << 30, 1 << 30, 0}}, NodeTaken{NodeId(7), {1, 0, 0, 0}},
         NodeTaken{NodeId(1), {-1, -1, -1, 0}}});
  EXPECT_EQ(ledger().free_gpus(NodeId(0)), 0);
  EXPECT_EQ(ledger().free_gpus(NodeId(1)), 2);
  EXPECT_EQ(engine_->state().taken.size(), 1U);
}

TEST_F(ExternalJobs, TakeNothingFromALeaseAndGetWhatItLeaves) {
  run_job_0();
  EXPECT_EQ(at(2, {NodeTaken{NodeId(0), {1, 3000, 0, 0}}}), "");
  EXPECT_EQ(engine_->lease(JobId(0)).placement, kLeft);
  EXPECT_EQ(at(3, {LeaseEnded{JobId(0), 1, kCompleted}, submit(1)}, start(JobId(1), half_left_)),
            "start 1.1");
  EXPECT_EQ(ledger().free_gpus(NodeId(0)), 0);
  EXPECT_EQ(ledger().room(NodeId(0)).cpu_milli, 0);
}

TEST_F(ExternalJobs, SendWhoeverWasOnlyPromisedTheirPlaceBack) {
  preempt_job_0();
  EXPECT_EQ(at(3, {NodeTaken{NodeId(0), {1, 3000, 0, 0}}}), "");
  EXPECT_EQ(state_of(JobId(1)), JobState::kWaiting);
  EXPECT_EQ(at(4, {LeaseEnded{JobId(0), 1, kStopped}}), "");
}

// Job 0 and the external jobs do not fit together, in any order of events. No other job gets the
// place of job 0.
TEST_F(ExternalJobs, AreNotPassedByWhatAPlanFrees) {
  run_job_0();
  at(2, {NodeTaken{NodeId(0), {1, 3000, 0, 0}}});
  EXPECT_EQ(at(3, {submit()}, swap(kLeft, false)), "")
      << "a stop that frees nothing for a job is dropped";
  EXPECT_EQ(at(4, {submit()}, swap(half_left_, false)), "");
  EXPECT_EQ(engine_->lease(JobId(0)).placement, kLeft);
}

TEST_F(ExternalJobs, OneMayBeStoppedAndTakenBackInAPlan) {
  run_job_0();
  at(2, {NodeTaken{NodeId(0), {1, 3000, 64'000, 0}}});
  const auto back_and_forth = [](const View&, Draft& draft) {
    const Draft::Mark mark = draft.mark();
    EXPECT_TRUE(draft.stop(JobId(0)));
    EXPECT_EQ(draft.ledger().free_gpus(NodeId(0)), 1);
    draft.rollback(mark);
    EXPECT_TRUE(draft.stop(JobId(0)));
    EXPECT_TRUE(draft.start(JobId(0), kLeft));
    Placement less = kLeft;
    less[0].cpu_milli = 3000;
    EXPECT_TRUE(draft.replace(JobId(0), less));
    EXPECT_FALSE(draft.replace(JobId(0), {{NodeId(0), 0b11, 6001, 128'000, 125'000}}));
  };
  EXPECT_EQ(at(3, {submit()}, back_and_forth), "resize 0.1");
}

TEST_F(ExternalJobs, AndClosingAreTwoThings) {
  at(0, {NodeTaken{NodeId(0), {1, 3000, 0, 0}}, NodeClosed{NodeId(0)}});
  EXPECT_EQ(ledger().free_gpus(NodeId(0)), 0);
  at(1, {NodeOpened{NodeId(0)}});
  EXPECT_EQ(ledger().free_gpus(NodeId(0)), 1);
  at(2, {NodeClosed{NodeId(0)}, NodeTaken{NodeId(0), {}}});
  EXPECT_EQ(ledger().free_gpus(NodeId(0)), 0);
  at(3, {NodeOpened{NodeId(0)}});
  EXPECT_EQ(ledger().free_gpus(NodeId(0)), 2);
  EXPECT_EQ(ledger().room(NodeId(0)).cpu_milli, 6000);
}

TEST_F(ExternalJobs, SaidAgainAreNoNews) {
  at(0, {NodeTaken{NodeId(0), {1, 3000, 0, 0}}});
  const auto plans = engine_->counters().plans;
  at(1, {NodeTaken{NodeId(0), {1, 3000, 0, 0}}, NodeTaken{NodeId(1), {}}});
  EXPECT_EQ(engine_->counters().plans, plans);
}

// A closed node accepts no lease, not even to replace one that is stopped for it.
TEST_F(EngineTest, NobodyIsPromisedAClosedServer) {
  run_job_0();
  const auto swap = [](const View&, Draft& draft) {
    EXPECT_TRUE(draft.stop(JobId(0)));
    EXPECT_FALSE(draft.start(JobId(1), kLeft));
  };
  EXPECT_EQ(at(2, {NodeClosed{NodeId(0)}, submit()}, swap), "");
  EXPECT_EQ(state_of(JobId(1)), JobState::kWaiting);
}

}  // namespace
}  // namespace muster
