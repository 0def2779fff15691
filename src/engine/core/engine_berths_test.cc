// GPU-sharing groups, elastic jobs, and progress reports of jobs.

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "engine/core/engine_testing.h"

namespace muster {
namespace {

Script join(JobId job, JobId host, SharingMode manner = SharingMode::kTimeSliced) {
  return [=](const View&, Draft& draft) { EXPECT_TRUE(draft.join(job, host, manner)); };
}

class SharingGroupTest : public EngineTest {
 protected:
  // Jobs 0 and 1 both run on kLeft.
  void run_two(SharingMode manner = SharingMode::kTimeSliced) {
    run_job_0();
    EXPECT_EQ(at(2, {submit()}, join(JobId(1), JobId(0), manner)),
              "start 1.1, share 0.1, share 1.1");
    at(3, {LeaseStarted{JobId(1), 1}});
  }
  std::string members(int job) const {
    const GpuSharingGroup* sharing_group = engine_->state().sharing_group(JobId(job));
    if (sharing_group == nullptr) return "alone";
    std::string text = sharing_group->manner == SharingMode::kTimeSliced ? "turns" : "packed";
    for (const JobId member : sharing_group->members) text += ' ' + std::to_string(member.index());
    return text;
  }
  std::int32_t free_gpus() const { return engine_->state().ledger.free_gpus(); }
};

TEST_F(SharingGroupTest, GpusHeldByTwoAreTakenOnce) {
  run_two();
  EXPECT_EQ(free_gpus(), 2);
  EXPECT_EQ(members(0), "turns 0 1");
  EXPECT_EQ(engine_->lease(JobId(1)).placement, kLeft);
}

TEST_F(SharingGroupTest, WhoeverRemainsKeepsTheGpus) {
  run_two();
  EXPECT_EQ(at(4, {LeaseEnded{JobId(0), 1, kCompleted}}), "share 1.1");
  EXPECT_EQ(members(1), "alone");
  EXPECT_EQ(free_gpus(), 2);
  EXPECT_EQ(at(5, {LeaseEnded{JobId(1), 1, kCompleted}}), "");
  EXPECT_EQ(free_gpus(), 4);
}

TEST_F(SharingGroupTest, OneThatFailsOrIsCancelledLeavesTheOtherAlone) {
  run_two();
  at(4, {submit()}, join(JobId(2), JobId(1)));
  EXPECT_EQ(members(0), "turns 0 1 2");
  EXPECT_EQ(at(5, {AttemptFailed{JobId(0), 1, Reason{}}}), "give up 0.1, share 1.1, share 2.1");
  EXPECT_EQ(at(6, {JobCancelled{JobId(1)}}), "stop 1.1, share 2.1");
  EXPECT_EQ(members(2), "alone");
  EXPECT_EQ(free_gpus(), 2);
}

TEST_F(SharingGroupTest, PackedAreTwoAndNoMore) {
  run_two(SharingMode::kPacked);
  at(4, {submit()}, [](const View&, Draft& draft) {
    EXPECT_FALSE(draft.join(JobId(2), JobId(0), SharingMode::kTimeSliced));
    EXPECT_FALSE(draft.join(JobId(2), JobId(0), SharingMode::kPacked));
    EXPECT_TRUE(draft.set_manner(JobId(1), SharingMode::kTimeSliced));
    EXPECT_TRUE(draft.join(JobId(2), JobId(0), SharingMode::kTimeSliced));
    EXPECT_FALSE(draft.set_manner(JobId(2), SharingMode::kPacked));
  });
  EXPECT_EQ(members(2), "turns 0 1 2");
}

TEST_F(SharingGroupTest, AChangeOfMannerIsToldWithoutARestart) {
  run_two();
  EXPECT_EQ(at(4, {submit()},
               [](const View&, Draft& draft) {
                 EXPECT_TRUE(draft.set_manner(JobId(0), SharingMode::kPacked));
               }),
            "share 0.1, share 1.1");
  EXPECT_EQ(members(1), "packed 0 1");
}

TEST_F(SharingGroupTest, AMemberMovesAwayAndTheOtherStays) {
  run_two();
  EXPECT_EQ(at(4, {submit()},
               [](const View&, Draft& draft) { EXPECT_TRUE(draft.replace(JobId(0), kRight)); }),
            "stop 0.1, share 1.1");
  EXPECT_EQ(free_gpus(), 0);
  EXPECT_EQ(at(5, {LeaseEnded{JobId(0), 1, kStopped}}), "start 0.2");
}

TEST_F(SharingGroupTest, AMemberMovesInWithAnother) {
  run_two();
  at(4, {submit()}, start(JobId(2), kRight));
  EXPECT_EQ(at(5, {submit()},
               [](const View&, Draft& draft) {
                 EXPECT_TRUE(draft.stop(JobId(1)));
                 EXPECT_TRUE(draft.join(JobId(1), JobId(2), SharingMode::kPacked));
               }),
            "stop 1.1, share 0.1, share 2.1");
  EXPECT_EQ(at(6, {LeaseEnded{JobId(1), 1, kStopped}}), "start 1.2");
  EXPECT_EQ(members(1), "packed 2 1");
  EXPECT_EQ(members(0), "alone");
}

TEST_F(SharingGroupTest, RefusesWhoDoesNotFit) {
  run_job_0();
  at(2, {submit(1), submit()}, [](const View&, Draft& draft) {
    EXPECT_FALSE(draft.join(JobId(1), JobId(0), SharingMode::kTimeSliced));  // A different size.
    EXPECT_FALSE(draft.join(JobId(0), JobId(0), SharingMode::kTimeSliced));  // Its own host.
    EXPECT_FALSE(draft.join(JobId(2), JobId(1), SharingMode::kTimeSliced));  // No lease.
    EXPECT_FALSE(draft.join(JobId(9), JobId(0), SharingMode::kTimeSliced));
    EXPECT_FALSE(draft.set_manner(JobId(0), SharingMode::kTimeSliced));  // Alone.
    EXPECT_FALSE(draft.replace(JobId(0), {}));
  });
  EXPECT_EQ(members(0), "alone");
}

TEST_F(SharingGroupTest, OneThatSharesKeepsItsCpus) {
  run_two();
  at(4, {submit()}, [](const View&, Draft& draft) {
    Placement less = kLeft;
    less[0].cpu_milli = 1000;
    EXPECT_FALSE(draft.replace(JobId(1), less));
  });
  EXPECT_EQ(members(1), "turns 0 1");
}

TEST_F(EngineTest, AnElasticJobIsRestartedOnAnotherNumberOfGpus) {
  JobSubmitted elastic = submit();
  elastic.spec.fewest = 1;
  elastic.spec.most = 4;
  const Placement one = {{NodeId(0), 0b01, 3000, 64'000, 62'500}};
  Placement four = kLeft;
  four.push_back(kRight[0]);
  EXPECT_EQ(at(0, {elastic}, start(JobId(0), one)), "start 0.1");
  EXPECT_LT(engine_->lease(JobId(0)).speed, 1.0);
  at(1, {LeaseStarted{JobId(0), 1}});
  EXPECT_EQ(at(2, {submit()},
               [&](const View&, Draft& draft) { EXPECT_TRUE(draft.replace(JobId(0), four)); }),
            "stop 0.1");
  EXPECT_EQ(at(3, {LeaseEnded{JobId(0), 1, kStopped}}), "start 0.2");
  EXPECT_GT(engine_->lease(JobId(0)).speed, 1.0);
  EXPECT_EQ(engine_->lease(JobId(0)).total.gpus, 4);
}

TEST_F(EngineTest, BelievesAMeasuredSpeedUntilTheLeaseChanges) {
  run_job_0();
  const auto done = [this] {
    return View(engine_->state(), Instant::micros(1001)).facts(JobId(0));
  };
  at(501, {JobReported{JobId(0), 1, 0.5, 0, 0, 0}});
  EXPECT_EQ(done().work_done, Duration::micros(750));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  at(501, {JobReported{JobId(0), 1, nan, 0, 0, 0}, JobReported{JobId(0), 1, -1, 0, 0, 0},
           JobReported{JobId(0), 7, 9, 0, 0, 0}, JobReported{JobId(5), 1, 9, 0, 0, 0}});
  EXPECT_EQ(done().work_done, Duration::micros(750));
  EXPECT_EQ(engine_->counters().stale, 2U);
}

}  // namespace
}  // namespace muster
