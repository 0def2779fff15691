#include "sim/run/job_progress.h"

#include <gtest/gtest.h>

#include "base/types/random.h"

namespace muster {
namespace {

constexpr Instant truth_at(std::int64_t seconds) { return Instant::at(Duration::seconds(seconds)); }

TEST(TrueProgress, StandsStillUntilItIsGivenASpeed) {
  TrueProgress job = TrueProgress::of_work(Duration::seconds(10));
  EXPECT_EQ(job.finish(), Instant::never());
  job.set_speed(1.0, truth_at(5));
  EXPECT_EQ(job.finish(), truth_at(15));
  job.set_speed(0, truth_at(7));
  EXPECT_EQ(job.finish(), Instant::never());
  job.set_speed(1.0, truth_at(100));
  EXPECT_EQ(job.finish(), truth_at(108));
}

TEST(TrueProgress, CountsWorkAtEachSpeedForAsLongAsItLasted) {
  TrueProgress job = TrueProgress::of_work(Duration::seconds(100));
  job.set_speed(2.0, truth_at(0));
  EXPECT_EQ(job.finish(), truth_at(50));
  job.set_speed(0.5, truth_at(20));  // 60 left.
  EXPECT_EQ(job.finish(), truth_at(140));
  job.set_speed(4.0, truth_at(60));  // 40 left.
  EXPECT_EQ(job.finish(), truth_at(70));
}

TEST(TrueProgress, TellsWhenSoMuchIsLeft) {
  TrueProgress job = TrueProgress::of_work(Duration::seconds(100));
  EXPECT_EQ(job.when_left(0), Instant::never());
  job.set_speed(2.0, truth_at(0));
  EXPECT_EQ(job.when_left(Duration::seconds(40).us()), truth_at(30));
  EXPECT_EQ(job.when_left(Duration::seconds(100).us()), truth_at(0));
  job.set_speed(0.5, truth_at(20));  // 60 left.
  EXPECT_EQ(job.when_left(Duration::seconds(40).us()), truth_at(60));
  EXPECT_EQ(job.when_left(Duration::seconds(90).us()), truth_at(20)) << "already less";
}

TEST(TrueProgress, RoundsTheEndUpToTheMicrosecond) {
  TrueProgress job = TrueProgress::of_work(Duration::micros(10));
  job.set_speed(3.0, Instant());
  EXPECT_EQ(job.finish(), Instant::micros(4));
}

TEST(TrueProgress, OfNoWorkIsDoneAtOnce) {
  TrueProgress job = TrueProgress::of_work(Duration());
  job.set_speed(1.0, truth_at(3));
  EXPECT_EQ(job.finish(), truth_at(3));
}

TEST(TrueProgress, NeverEndsWhenItWouldTakeForever) {
  TrueProgress job = TrueProgress::of_work(kLongestDuration);
  job.set_speed(1.0, Instant());
  EXPECT_EQ(job.finish(), Instant::at(kLongestDuration));
  job.set_speed(1e-9, Instant());
  EXPECT_EQ(job.finish(), Instant::never());
}

TEST(TrueProgress, IsNotChangedByBeingGivenTheSpeedItHas) {
  Random random(7);
  for (int i = 0; i < 1000; ++i) {
    const auto work = static_cast<std::int64_t>(1 + random.below(1'000'000'000));
    const double speed = random.uniform(0.01, 5.0);
    TrueProgress once = TrueProgress::of_work(Duration::micros(work));
    TrueProgress often = once;
    once.set_speed(speed, Instant());
    const std::int64_t end = once.finish().us();
    constexpr int kTimes = 10;
    for (int k = 0; k < kTimes; ++k) {
      often.set_speed(speed, Instant::micros(end / kTimes * k));
    }
    // Each time less than one microsecond of work is lost, which takes 1 / speed.
    EXPECT_GE(often.finish().us(), end - 1);
    EXPECT_LE(static_cast<double>(often.finish().us() - end), kTimes / speed + 1);
  }
}

TEST(TrueProgress, CreditsWholeIterationsARound) {
  // 0.7 s each: 428 in a round of 300 s, not 428.57.
  TrueProgress job = TrueProgress::of_iterations(1000, 0.7, Duration::seconds(300));
  job.set_speed(1.0, truth_at(1));
  EXPECT_EQ(job.finish(), truth_at(901));
  job.set_speed(2.0, truth_at(301));  // 572 left, 857 per round.
  EXPECT_EQ(job.finish(), truth_at(601));
  job.set_speed(0, truth_at(301));
  EXPECT_EQ(job.finish(), Instant::never());
  job.set_speed(1.0, truth_at(1201));
  EXPECT_EQ(job.finish(), truth_at(1801));
}

TEST(TrueProgress, TakesOneRoundAtLeast) {
  TrueProgress job = TrueProgress::of_iterations(0, 1.0, Duration::seconds(300));
  job.set_speed(1.0, truth_at(0));
  EXPECT_EQ(job.finish(), truth_at(300));
}

TEST(TrueProgress, NeverEndsWhenNotOneIterationFitsInARound) {
  TrueProgress job = TrueProgress::of_iterations(5, 400.0, Duration::seconds(300));
  job.set_speed(1.0, truth_at(0));
  EXPECT_EQ(job.finish(), Instant::never());
  job.set_speed(2.0, truth_at(300));
  EXPECT_EQ(job.finish(), truth_at(1800));
}

constexpr Turns turns_of(std::int64_t jobs, std::int64_t ahead) {
  return {jobs, ahead, truth_at(100), Duration::seconds(60), Duration::seconds(1)};
}

TEST(Turns, AJobHasItsSlicesLessTheSwitch) {
  const Turns second = turns_of(3, 1);
  EXPECT_EQ(second.had(truth_at(160)), Duration());
  EXPECT_EQ(second.had(truth_at(161)), Duration());
  EXPECT_EQ(second.had(truth_at(171)), Duration::seconds(10));
  EXPECT_EQ(second.had(truth_at(220)), Duration::seconds(59));
  EXPECT_EQ(second.had(truth_at(340)), Duration::seconds(59));
  EXPECT_EQ(second.had(truth_at(342)), Duration::seconds(60));
  EXPECT_DOUBLE_EQ(second.part(), 59.0 / 180.0);
}

TEST(Turns, KnowWhenTheJobLastHadTheGpus) {
  const Turns second = turns_of(3, 1);
  EXPECT_LT(second.last(truth_at(150)), truth_at(100));  // Never.
  EXPECT_EQ(second.last(truth_at(200)), truth_at(200));
  EXPECT_EQ(second.last(truth_at(300)), truth_at(220));
  EXPECT_EQ(second.last(truth_at(345)), truth_at(345));
  EXPECT_EQ(Turns().last(truth_at(7)), truth_at(7));
}

TEST(Turns, WhenItWillHaveHadThemIsTheInverse) {
  Random random(11);
  for (int i = 0; i < 2000; ++i) {
    Turns turns;
    turns.jobs = static_cast<std::int64_t>(1 + random.below(5));
    turns.ahead = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(turns.jobs)));
    turns.slice = Duration::micros(static_cast<std::int64_t>(2 + random.below(50)));
    turns.cost = Duration::micros(
        static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(turns.slice.us()))));
    Duration had;  // Counted microsecond by microsecond.
    for (std::int64_t t = 0; t < 200; ++t) {
      const std::int64_t turn = t / turns.slice.us() % turns.jobs;
      const bool mine =
          turns.jobs == 1 || (turn == turns.ahead && t % turns.slice.us() >= turns.cost.us());
      if (mine) had += Duration::micros(1);
      ASSERT_EQ(turns.had(Instant::micros(t + 1)), had);
      if (mine) {
        ASSERT_EQ(turns.when_had(had), Instant::micros(t + 1));
      }
    }
  }
}

TEST(TrueProgress, InTurnsEndsInATurnOfItsOwn) {
  TrueProgress job = TrueProgress::of_work(Duration::seconds(118));
  job.set_speed(2.0, truth_at(100), turns_of(2, 1));  // 59 s of GPU time: exactly one slice.
  EXPECT_EQ(job.finish(), truth_at(220));
  job.set_speed(1.0, truth_at(190), turns_of(2, 1));  // 29 s had: 60 left.
  EXPECT_EQ(job.finish(), truth_at(311));  // 30 in this turn, 30 after the switch at 280.
  job.set_speed(1.0, truth_at(250));       // Alone from now on, 30 left.
  EXPECT_EQ(job.finish(), truth_at(280));
}

}  // namespace
}  // namespace muster
