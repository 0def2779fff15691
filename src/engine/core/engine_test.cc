#include "engine/core/engine.h"

#include <gtest/gtest.h>

#include <string>

#include "engine/core/engine_testing.h"

namespace muster {
namespace {

TEST_F(EngineTest, StartsAPromisedLeaseWhenTheStoppingOneIsGone) {
  preempt_job_0();
  EXPECT_EQ(engine_->lease(JobId(1)).state, Lease::State::kPromised);
  EXPECT_EQ(at(3, {TimerFired{}}), "");
  EXPECT_EQ(at(9, {LeaseEnded{JobId(0), 1, kStopped}}), "start 1.1");
  EXPECT_EQ(engine_->lease(JobId(1)).state, Lease::State::kOrdered);
  at(10, {LeaseStarted{JobId(1), 1}});
  EXPECT_EQ(engine_->lease(JobId(1)).state, Lease::State::kRunning);
  EXPECT_EQ(planner_->log, " +0 news +1 news +0");
}

TEST_F(EngineTest, WaitsForEveryStoppingLeaseOnItsServers) {
  run_job_0();
  at(2, {submit()}, start(JobId(1), kRight));
  EXPECT_EQ(at(3, {submit()},
               [](const View&, Draft& draft) {
                 EXPECT_TRUE(draft.stop(JobId(0)));
                 EXPECT_TRUE(draft.stop(JobId(1)));
                 EXPECT_TRUE(draft.start(JobId(2), kAcross));
               }),
            "stop 0.1, stop 1.1");
  EXPECT_EQ(at(4, {LeaseEnded{JobId(1), 1, kStopped}}), "");
  EXPECT_EQ(at(5, {LeaseEnded{JobId(0), 1, kStopped}}), "start 2.1");
}

TEST_F(EngineTest, WaitsOnceForALeaseThatStopsOnSeveralOfItsServers) {
  at(0, {submit()}, start(JobId(0), kAcross));
  EXPECT_EQ(at(1, {submit()}, swap_in(JobId(0), JobId(1), kAcross)), "stop 0.1");
  EXPECT_EQ(at(2, {LeaseEnded{JobId(0), 1, kStopped}}), "start 1.1");
}

TEST_F(EngineTest, MovesAJobOnlyAfterItGaveUpItsOldPlace) {
  run_job_0();
  EXPECT_EQ(at(2, {submit()},
               [](const View&, Draft& draft) { EXPECT_TRUE(draft.replace(JobId(0), kRight)); }),
            "stop 0.1");
  EXPECT_EQ(state_of(JobId(0)), JobState::kPlaced);
  EXPECT_EQ(at(5, {LeaseEnded{JobId(0), 1, kStopped}}), "start 0.2");
}

TEST_F(EngineTest, ChangesItsMindAboutAPromise) {
  preempt_job_0();
  EXPECT_EQ(at(3, {submit()}, swap_in(JobId(1), JobId(2), kLeft)), "") << "job 1 never started";
  EXPECT_EQ(state_of(JobId(1)), JobState::kWaiting);
  EXPECT_EQ(at(4, {submit()}, start(JobId(0), kRight)), "") << "job 0 has yet to stop";
  EXPECT_EQ(at(5, {LeaseEnded{JobId(0), 1, kStopped}}), "start 2.1, start 0.2");
}

TEST_F(EngineTest, NeverOrdersAStartThatThePlanOfTheSameStepTakesBack) {
  preempt_job_0();
  EXPECT_EQ(
      at(3, {LeaseEnded{JobId(0), 1, kStopped}, submit()}, swap_in(JobId(1), JobId(2), kLeft)),
      "start 2.1")
      << "job 1 was promised the place, and was clear to start";
  EXPECT_EQ(state_of(JobId(1)), JobState::kWaiting);
}

TEST_F(EngineTest, NeverOrdersAStartThatTheNextNewsMakesVoid) {
  preempt_job_0();
  EXPECT_EQ(at(3, {LeaseEnded{JobId(0), 1, kStopped}, JobCancelled{JobId(1)}}), "");
  EXPECT_EQ(state_of(JobId(1)), JobState::kCancelled);
}

TEST_F(EngineTest, BelievesAJobThatCompletesWhileItIsBeingStopped) {
  preempt_job_0();
  EXPECT_EQ(at(3, {LeaseEnded{JobId(0), 1, kCompleted}}), "start 1.1");
  EXPECT_EQ(state_of(JobId(0)), JobState::kDone);
  EXPECT_EQ(engine_->state().waiting, 0U);
  EXPECT_EQ(planner_->log, " +0 news +1 news +0 -0 news") << "it left the queue again";
}

TEST_F(EngineTest, DoesNotStartAgainAJobThatCompletedWhileItWasBeingMoved) {
  run_job_0();
  at(2, {submit()},
     [](const View&, Draft& draft) { EXPECT_TRUE(draft.replace(JobId(0), kRight)); });
  EXPECT_EQ(at(3, {LeaseEnded{JobId(0), 1, kCompleted}}), "");
  EXPECT_EQ(state_of(JobId(0)), JobState::kDone);
  EXPECT_EQ(engine_->state().ledger.free_gpus(), 4);
}

TEST_F(EngineTest, CancelsAWaitingJob) {
  at(0, {submit()});
  EXPECT_EQ(at(1, {JobCancelled{JobId(0)}}), "");
  EXPECT_EQ(state_of(JobId(0)), JobState::kCancelled);
  EXPECT_EQ(engine_->state().waiting, 0U);
  EXPECT_EQ(planner_->log, " +0 news -0 news");
}

TEST_F(EngineTest, CancelsAJobThatWasOrderedOrRuns) {
  for (const bool started : {false, true}) {
    build(EngineOptions());
    at(0, {submit()}, start(JobId(0), kLeft));
    if (started) at(1, {LeaseStarted{JobId(0), 1}});
    EXPECT_EQ(at(2, {JobCancelled{JobId(0)}}), "stop 0.1");
    EXPECT_EQ(state_of(JobId(0)), JobState::kCancelled);
    EXPECT_EQ(at(3, {submit()}, start(JobId(1), kLeft)), "") << "the GPUs are not free yet";
    EXPECT_EQ(at(4, {LeaseEnded{JobId(0), 1, kStopped}}), "start 1.1");
    EXPECT_EQ(state_of(JobId(0)), JobState::kCancelled);
  }
}

TEST_F(EngineTest, CancelsAPromisedJobWithoutAWord) {
  preempt_job_0();
  EXPECT_EQ(at(3, {JobCancelled{JobId(1)}}), "");
  EXPECT_EQ(at(4, {LeaseEnded{JobId(0), 1, kStopped}}), "");
  EXPECT_EQ(engine_->state().ledger.free_gpus(), 4);
}

TEST_F(EngineTest, CancelsAJobThatIsBeingStopped) {
  for (const LeaseOutcome outcome : {kStopped, kCompleted}) {
    build(EngineOptions());
    preempt_job_0();
    EXPECT_EQ(at(3, {JobCancelled{JobId(0)}}), "") << "its stop was ordered already";
    EXPECT_EQ(at(4, {LeaseEnded{JobId(0), 1, outcome}}), "start 1.1");
    EXPECT_EQ(state_of(JobId(0)), JobState::kCancelled);
    EXPECT_EQ(engine_->state().waiting, 0U);
  }
}

TEST_F(EngineTest, IgnoresACancelThatComesTooLateOrMeansNobody) {
  run_job_0();
  at(2, {LeaseEnded{JobId(0), 1, kCompleted}});
  at(3, {submit(9)});
  const std::uint64_t plans = engine_->counters().plans;
  EXPECT_EQ(at(4, {JobCancelled{JobId(0)}, JobCancelled{JobId(1)}, JobCancelled{JobId(77)}}), "");
  EXPECT_EQ(state_of(JobId(0)), JobState::kDone);
  EXPECT_EQ(state_of(JobId(1)), JobState::kRejected);
  EXPECT_EQ(engine_->counters().plans, plans) << "nothing to plan for";
}

TEST_F(EngineTest, IgnoresAndCountsStaleNews) {
  preempt_job_0();
  at(3, {LeaseEnded{JobId(0), 1, kStopped}});
  EXPECT_EQ(engine_->counters().stale, 0U);
  const std::uint64_t digest = engine_->digest();
  EXPECT_EQ(at(4, {LeaseEnded{JobId(0), 1, kStopped}}), "") << "a duplicate";
  EXPECT_EQ(at(5, {LeaseEnded{JobId(0), 1, kCompleted}}), "")
      << "a contradiction about the same lease";
  EXPECT_EQ(at(6, {LeaseStarted{JobId(0), 1}}), "") << "too late";
  EXPECT_EQ(at(7, {LeaseEnded{JobId(1), 7, kCompleted}}), "") << "there is no such lease";
  EXPECT_EQ(at(8, {LeaseStarted{JobId(99), 1}, LeaseEnded{JobId(99), 1, kCompleted}}), "");
  EXPECT_EQ(engine_->counters().stale, 6U);
  EXPECT_EQ(engine_->digest(), digest);
  EXPECT_EQ(state_of(JobId(0)), JobState::kWaiting);
  EXPECT_EQ(state_of(JobId(1)), JobState::kPlaced);
}

TEST_F(EngineTest, TakesNewsOfAStartSaidTwiceForOne) {
  run_job_0();
  at(50, {LeaseStarted{JobId(0), 1}});
  EXPECT_EQ(View(engine_->state(), Instant::micros(101)).facts(JobId(0)).work_done,
            Duration::micros(100));
}

TEST_F(EngineTest, CountsWorkFromTheStartAndGpuTimeFromTheOrder) {
  at(0, {submit()}, start(JobId(0), kLeft));
  at(10, {LeaseStarted{JobId(0), 1}});
  const JobFacts facts = View(engine_->state(), Instant::micros(25)).facts(JobId(0));
  EXPECT_EQ(facts.work_done, Duration::micros(15));  // At the reference share's speed, 1.
  EXPECT_EQ(facts.gpu_us, 2 * 25);
  at(30, {submit()}, swap_in(JobId(0), JobId(1), kLeft));
  const JobFacts later = View(engine_->state(), Instant::micros(500)).facts(JobId(0));
  EXPECT_EQ(later.work_done, Duration::micros(20));
  EXPECT_EQ(later.gpu_us, 2 * 30);
  EXPECT_EQ(View(engine_->state(), Instant::micros(500)).facts(JobId(1)).gpu_us, 0)
      << "a promise is not service";
}

TEST_F(EngineTest, RejectsWithTheReason) {
  EXPECT_EQ(at(0, {submit(2), submit(9), submit(10)}), "reject 1.0, reject 2.0");
  EXPECT_EQ(engine_->why_rejected(JobId(1)), "no 9 GPUs here");
  EXPECT_EQ(engine_->why_rejected(JobId(2)), "no 10 GPUs here");
  EXPECT_EQ(engine_->state().waiting, 1U);
  EXPECT_EQ(planner_->log, " +0 news");
  EXPECT_DEATH(static_cast<void>(engine_->why_rejected(JobId(0))), "broken invariant");
}

TEST_F(EngineTest, PlansOnNewsAndOnNothingElse) {
  at(0, {submit(), submit()});
  EXPECT_EQ(engine_->counters().plans, 1U) << "one plan for all events of an instant";
  at(1, {TimerFired{}});
  at(2, {});
  at(3, {submit(9)});
  EXPECT_EQ(engine_->counters().plans, 1U) << "a timer, no event and a rejected job cause no plan";
  at(3, {submit()});
  EXPECT_EQ(engine_->counters().plans, 2U) << "events of one instant may arrive in several steps";
}

TEST_F(EngineTest, PlansInRoundsOnlyAndOnceEach) {
  EngineOptions options;
  options.round = Duration::micros(100);
  options.first_round = Instant::micros(50);
  build(options);
  EXPECT_EQ(at(10, {submit()}), "wake 50");
  EXPECT_EQ(at(20, {submit()}), "") << "it has requested the wake-up already";
  EXPECT_EQ(at(50, {TimerFired{}}, start(JobId(0), kLeft)), "start 0.1, wake never");
  EXPECT_EQ(at(50, {submit()}), "wake 150") << "too late for this round";
  EXPECT_EQ(engine_->counters().plans, 1U);
  EXPECT_EQ(at(150, {TimerFired{}}), "wake never");
  EXPECT_EQ(at(250, {TimerFired{}}), "") << "no event";
  EXPECT_EQ(engine_->counters().plans, 2U);
  EXPECT_EQ(planner_->log, " +0 +1 tick +2 tick");
}

TEST_F(EngineTest, PlansEveryRoundWhileADriftingOrderKeepsJobsWaiting) {
  EngineOptions options;
  options.round = Duration::micros(100);
  build(options);
  planner_->drift = true;
  EXPECT_EQ(at(0, {submit(), submit()}, start(JobId(0), kLeft)), "start 0.1, wake 100");
  EXPECT_EQ(at(100, {TimerFired{}}), "wake 200");
  EXPECT_EQ(at(200, {TimerFired{}}, start(JobId(1), kRight)), "start 1.1, wake never");
}

TEST_F(EngineTest, TicksEveryQuantumWhileADriftingOrderKeepsJobsWaiting) {
  EngineOptions options;
  options.quantum = Duration::micros(300);
  build(options);
  planner_->drift = true;
  EXPECT_EQ(at(10, {submit()}), "wake 300");
  EXPECT_EQ(at(20, {submit()}, start(JobId(0), kLeft)), "start 0.1");
  EXPECT_EQ(at(300, {TimerFired{}}), "wake 600");
  EXPECT_EQ(at(600, {TimerFired{}}, start(JobId(1), kRight)), "start 1.1, wake never");
  EXPECT_EQ(at(900, {submit()}), "wake 1200") << "an event exactly at a tick is a tick";
  EXPECT_EQ(planner_->log, " +0 news +1 news tick tick +2 tick");
}

TEST_F(EngineTest, GivesTheSameDigestForTheSameEventsAndAnotherForOthers) {
  std::vector<std::uint64_t> digests;
  for (const Placement& where : {kLeft, kLeft, kRight}) {
    build(EngineOptions());
    at(0, {submit()}, start(JobId(0), where));
    at(1, {LeaseStarted{JobId(0), 1}});
    at(2, {LeaseEnded{JobId(0), 1, kCompleted}});
    digests.push_back(engine_->digest());
  }
  EXPECT_EQ(digests[0], digests[1]);
  EXPECT_NE(digests[0], digests[2]);
}

TEST_F(EngineTest, WillNotGoBackInTime) {
  at(5, {});
  EXPECT_DEATH(engine_->step(Instant::micros(4), {}), "broken invariant");
}

TEST_F(EngineTest, ALeaseThatStopsUnaskedWaitsAgain) {
  run_job_0();
  EXPECT_EQ(at(5, {LeaseEnded{JobId(0), 1, kStopped}}, start(JobId(0), kRight)), "start 0.2");
  // Work since its last checkpoint is lost.
  EXPECT_EQ(engine_->state().jobs[JobId(0)].work_done, Duration());
}

TEST_F(EngineTest, ALateTimerIsStillATick) {
  EngineOptions options;
  options.round = Duration::micros(100);
  build(options);
  EXPECT_EQ(at(30, {submit()}), "wake 100");
  EXPECT_EQ(at(103, {TimerFired{}}, start(JobId(0), kLeft)), "start 0.1, wake never");
}

TEST_F(EngineTest, ShrinksAreOrderedBeforeGrows) {
  Placement half = {{NodeId(0), 0b01, 3000, 64'000, 62'500}};
  Placement other = {{NodeId(0), 0b10, 3000, 64'000, 62'500}};
  at(0, {submit(1), submit(1)}, [&](const View&, Draft& draft) {
    EXPECT_TRUE(draft.start(JobId(0), half) && draft.start(JobId(1), other));
  });
  const std::string actions = at(9, {submit()}, [&](const View&, Draft& draft) {
    half[0].cpu_milli = 5000;
    other[0].cpu_milli = 1000;
    EXPECT_TRUE(draft.stop(JobId(0)) && draft.stop(JobId(1)));
    EXPECT_TRUE(draft.start(JobId(0), half) && draft.start(JobId(1), other));
  });
  EXPECT_EQ(actions, "resize 1.1, resize 0.1");
}

}  // namespace
}  // namespace muster
