// Jobs with a history: a second engine continues from the state of the first, with any parts. Also
// tests priorities, retries and checkpoints of jobs.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/types/random.h"
#include "engine/scheduler/testing.h"

namespace muster {
namespace {

JobRestored past_of(const World& world, std::size_t id) {
  const Job& job = world.job(id);
  const bool placed = job.lease != kNoRow;
  return {job.spec,
          job.submitted,
          job.epoch,
          job.work_done,
          job.gpu_us,
          0,
          0,
          {},
          placed ? world.engine->lease(JobId(id)).placement : Placement()};
}

class Resume : public testing::TestWithParam<PlannerOptions> {};

TEST_P(Resume, ASecondEngineGoesOnWhereTheFirstWas) {
  World first(GetParam());
  Random random(7);
  std::vector<Event> jobs;
  for (int i = 0; i < 25; ++i) {
    jobs.push_back(submit(1 + static_cast<std::int32_t>(random.below(4)),
                          static_cast<std::int64_t>(100 + random.below(5000))));
  }
  first.step(0, jobs);
  first.step(60, {TimerFired{}});
  World second(GetParam());
  std::vector<Event> pasts;
  for (std::size_t i = 0; i < jobs.size(); ++i) pasts.push_back(past_of(first, i));
  std::map<std::size_t, Epoch> started;
  for (const Action& action : second.engine->step(Instant::at(Duration::seconds(61)), pasts)) {
    if (action.kind == Action::Kind::kStart) started[action.job.index()] = action.epoch;
  }
  second.engine->state().check_invariants();
  std::size_t running = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (!first.runs(i)) continue;
    ++running;
    ASSERT_TRUE(second.runs(i)) << i;
    EXPECT_TRUE(same_slots(second.engine->lease(JobId(i)).placement,
                           first.engine->lease(JobId(i)).placement));
    EXPECT_EQ(started[i], first.job(i).epoch);
    EXPECT_EQ(second.job(i).submitted, Instant());
  }
  EXPECT_GT(running, 2U);
  // It can continue to the end.
  std::int64_t now = 100;
  for (int rounds = 0; rounds < 500 && !second.engine->state().placed.empty(); ++rounds) {
    const JobId job = second.engine->state().placed.front();
    const Epoch epoch = second.job(job.index()).epoch;
    second.step(now += 7, {LeaseStarted{job, epoch}});
    if (!second.runs(job.index()) || second.job(job.index()).epoch != epoch) continue;
    second.step(now, {LeaseEnded{job, epoch, LeaseOutcome::kCompleted}});
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) EXPECT_EQ(second.job(i).state, JobState::kDone);
}

INSTANTIATE_TEST_SUITE_P(Parts, Resume, testing::ValuesIn(all_parts()), name_of_case);

PlannerOptions optimus() {
  PlannerOptions options;
  options.whole = OptimusOptions{};
  return options;
}
INSTANTIATE_TEST_SUITE_P(Whole, Resume, testing::Values(optimus()), name_of_case);

PlannerOptions chain_of(const char* policy) {
  PlannerOptions options;
  options.parts.policy = policy;
  return options;
}

TEST(Resume, WhatCannotBeKeptWaits) {
  World world(chain_of("fifo"), "1x4");
  JobRestored first;
  first.epoch = 3;
  first.spec.gpus = 4;
  first.placement = {{NodeId(0), 0b1111, 1000, 1000, 0}};
  JobRestored second = first;
  world.step(5, {first, second});
  EXPECT_TRUE(world.runs(0));
  EXPECT_EQ(world.job(0).epoch, 3U);
  EXPECT_FALSE(world.runs(1));
  world.step(6, {LeaseEnded{JobId(0), 3, LeaseOutcome::kCompleted}});
  EXPECT_TRUE(world.runs(1));
  EXPECT_EQ(world.job(1).epoch, 4U);  // The lease it had is not named again.
}

TEST(Priority, GoesFirstUnderEveryPolicyThatRanks) {
  for (const auto& policy : policies()) {
    if (policy.name == "tetris") continue;  // Has no first job.
    World world(chain_of(std::string(policy.name).c_str()), "1x1");
    world.step(0, {submit(1, 100)});
    world.step(1, {submit(1, 100), submit(1, 1000, 5)});
    if (world.runs(0)) {
      world.step(2, {LeaseEnded{JobId(0), world.job(0).epoch, LeaseOutcome::kCompleted}});
    }
    EXPECT_TRUE(world.runs(2)) << policy.name;
  }
}

TEST(Retries, OfTheJobItselfCountBeforeTheRule) {
  World world(chain_of("fifo"), "1x1");
  JobSpec spec;
  spec.retries = 2;
  world.step(0, {JobSubmitted{spec}});
  for (Epoch epoch = 1; epoch <= 3; ++epoch) {
    ASSERT_TRUE(world.runs(0)) << epoch;
    world.step(epoch, {AttemptFailed{JobId(0), epoch, Reason::kSyntaxError}});
  }
  EXPECT_EQ(world.job(0).state, JobState::kFailed);
}

TEST(Saves, BoundWhatAFailureCosts) {
  World world(chain_of("fifo"), "1x1");
  JobSpec spec;
  spec.retries = 1;
  world.step(0, {JobSubmitted{spec}});
  const double speed = world.job(0).speed;
  world.step(100, {JobSaved{JobId(0), 1}});
  world.step(250, {AttemptFailed{JobId(0), 1, Reason::kNoSignature}});
  EXPECT_NEAR(world.job(0).work_done.in_seconds(), 100 * speed, 0.01);
}

}  // namespace
}  // namespace muster
