#include "engine/fit/remaining.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/types/random.h"

namespace muster {
namespace {

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

// A job of `total` steps of about one second each: its progress every 10 steps and its total time.
// `alike` is the correlation of neighboring steps.
struct JobRun {
  std::vector<PacePoint> points;
  double whole = 0;
};

JobRun run_of(std::uint64_t seed, int total, double noise, double alike, double drift = 0) {
  Random random(seed);
  JobRun run;
  double deviation = random.normal();
  for (int step = 0; step < total; ++step) {
    if (step % 10 == 0) run.points.push_back({run.whole, static_cast<double>(step), 1});
    deviation = alike * deviation + std::sqrt(1 - alike * alike) * random.normal();
    run.whole += std::exp(noise * deviation) * (1 + drift * step / total);
  }
  return run;
}

Result<Remaining> after(const JobRun& run, std::size_t points, double total) {
  JobReports told;
  told.steps = std::span(run.points).first(points);
  told.total = total;
  return predict_remaining(told);
}

// Number of runs out of 100 whose actual value was inside the band.
double covered(int total, std::size_t points, double noise, double alike) {
  int inside = 0;
  constexpr int kRuns = 500;
  for (int seed = 0; seed < kRuns; ++seed) {
    const JobRun run = run_of(static_cast<std::uint64_t>(seed), total, noise, alike);
    const Result<Remaining> left = after(run, points, total);
    EXPECT_TRUE(left.ok()) << left.error().message;
    const double truth = run.whole - run.points[points - 1].seconds;
    inside += left.value().low <= truth && truth <= left.value().high ? 1 : 0;
  }
  return 100.0 * inside / kRuns;
}

TEST(Remaining, TheBandHoldsTheTruthAboutAsOftenAsItSays) {
  struct Case {
    int total;
    std::size_t points;
    double noise;
    double alike;
  };
  for (const Case& each : std::vector<Case>{{1000, 11, 0.5, 0},
                                            {1000, 51, 0.5, 0},
                                            {1000, 91, 0.5, 0},
                                            {5000, 11, 0.8, 0},
                                            {1000, 21, 0.5, 0.9},
                                            {1000, 51, 0.5, 0.9},
                                            {2000, 61, 0.4, 0.97}}) {
    const double percent = covered(each.total, each.points, each.noise, each.alike);
    const std::string what = std::to_string(each.total) + " steps, " + std::to_string(each.points) +
                             " points, alike " + std::to_string(each.alike);
    EXPECT_GE(percent, 75) << what;
    EXPECT_LE(percent, 95) << what;
  }
}

TEST(Remaining, ASteadyJobIsForetoldExactly) {
  const JobRun run = run_of(1, 1000, 0, 0);
  double last = kInfinite;
  for (std::size_t points = 5; points <= run.points.size(); ++points) {
    const Result<Remaining> left = after(run, points, 1000);
    ASSERT_TRUE(left.ok()) << left.error().message;
    const double truth = run.whole - run.points[points - 1].seconds;
    EXPECT_NEAR(left.value().seconds, truth, 1e-6);
    EXPECT_LT(left.value().seconds, last) << "there is ever less left";
    EXPECT_LT(left.value().high, truth * 1.05);
    EXPECT_EQ(left.value().by, Remaining::By::kSteps);
    EXPECT_EQ(left.value().end, 1000);
    last = left.value().seconds;
  }
}

TEST(Remaining, TheLatestPaceCountsMostAndOnePauseLittle) {
  // Twice as slow for the last third.
  JobRun slower;
  for (int i = 0; i <= 60; ++i) {
    slower.points.push_back({i <= 40 ? i * 10.0 : 400 + (i - 40) * 20.0, i * 10.0, 1});
  }
  EXPECT_GT(after(slower, 61, 1600).value().seconds, 1000 * 1.5);
  JobRun pause;
  for (int i = 0; i <= 60; ++i) {
    pause.points.push_back({i * 10.0 + (i > 50 ? 5000 : 0), i * 10.0, 1});
  }
  EXPECT_LT(after(pause, 61, 1600).value().seconds, 1000 * 1.5);
}

TEST(Remaining, TimeWithoutALeaseAndWorkDoneTwiceAreNotItsPace) {
  JobRun run;
  for (int i = 0; i <= 10; ++i) run.points.push_back({i * 10.0, i * 10.0, 1});
  // Another lease began from step 50 after 300 s of getting up to speed.
  for (int i = 5; i <= 20; ++i) run.points.push_back({400 + (i - 5) * 10.0, i * 10.0, 2});
  EXPECT_NEAR(after(run, run.points.size(), 300).value().seconds, 100, 1e-6);
}

TEST(Remaining, FartherAheadTheBandIsWider) {
  const JobRun run = run_of(3, 1000, 0.3, 0.5);
  const auto width = [&](double total) {
    const Remaining left = after(run, 50, total).value();
    return left.high - left.low;
  };
  EXPECT_LT(width(600), width(1e3));
  EXPECT_LT(2 * width(1e3), width(1e4));
  EXPECT_LT(100 * width(1e4), width(1e6)) << "also as a part of it";
}

// Epochs of about a minute; the loss falls as 5 / (epoch + 5) + 0.3 and has converged after 29,
// when it falls by less than 0.05 of its first value in ten epochs.
struct TrainingRun {
  std::vector<PacePoint> epochs;
  std::vector<LossPoint> losses;
  double at_end = 0;  // Seconds.
};
TrainingRun training(std::uint64_t seed, int until, double noise) {
  Random random(seed);
  TrainingRun out;
  double seconds = 0;
  for (int epoch = 0; epoch <= 29; ++epoch) {
    if (epoch <= until) {
      out.epochs.push_back({seconds, static_cast<double>(epoch), 1});
      for (int part = 0; part < 2 && epoch < until; ++part) {
        const double at = epoch + part / 2.0;
        const double loss = 5 / (at + 5) + 0.3;
        out.losses.push_back({at, loss * (1 + noise * random.normal())});
      }
    }
    out.at_end = seconds;
    seconds += 60 * std::exp(0.1 * random.normal());
  }
  return out;
}
Result<Remaining> predicted(const TrainingRun& seen) {
  JobReports told;
  told.epochs = seen.epochs;
  told.losses = seen.losses;
  return predict_remaining(told);
}

TEST(Remaining, ByTheLossAlike) {
  const Result<Remaining> exact = predicted(training(1, 12, 0));
  ASSERT_TRUE(exact.ok()) << exact.error().message;
  EXPECT_EQ(exact.value().by, Remaining::By::kLoss);
  EXPECT_EQ(exact.value().end, 29);
  EXPECT_NEAR(exact.value().seconds, 17 * 60, 120);

  for (const int until : {10, 16, 22}) {
    for (const double noise : {0.003, 0.03}) {
      int inside = 0;
      int told = 0;
      for (std::uint64_t seed = 1; seed <= 150; ++seed) {
        const TrainingRun seen = training(seed, until, noise);
        const Result<Remaining> left = predicted(seen);
        if (!left.ok()) continue;
        ++told;
        const double truth = seen.at_end - seen.epochs.back().seconds;
        inside += left.value().low <= truth && truth <= left.value().high ? 1 : 0;
      }
      EXPECT_GT(told, 120);
      EXPECT_GE(100.0 * inside / told, 75) << until << " epochs, noise " << noise;
      EXPECT_LE(100.0 * inside / told, 95) << until << " epochs, noise " << noise;
    }
  }
}

TEST(Remaining, SaysWhyItCannotTell) {
  const auto why = [](const JobReports& told) {
    const Result<Remaining> left = predict_remaining(told);
    return left.ok() ? "it can" : left.error().message;
  };
  const JobRun run = run_of(1, 100, 0, 0);
  const TrainingRun seen = training(1, 12, 0);
  EXPECT_EQ(why({}), "the job has reported no loss and no total");
  EXPECT_EQ(why({.steps = run.points}), "the job has reported no loss and no total");
  EXPECT_EQ(why({.total = 100.0}), "the job has reported a total, but no steps");
  EXPECT_EQ(why({.steps = std::span(run.points).first(3), .total = 100.0}),
            "the job has reported too few steps yet");
  EXPECT_EQ(why({.losses = seen.losses}), "the job has reported no epochs and no total");
  std::vector<LossPoint> level = seen.losses;
  for (LossPoint& point : level) point.loss = 1;
  EXPECT_EQ(why({.epochs = seen.epochs, .losses = level}),
            "the reported losses do not yet predict when the job converges");
  std::vector<PacePoint> late = seen.epochs;
  for (PacePoint& point : late) point.at += 60;
  EXPECT_EQ(why({.epochs = late, .losses = seen.losses}),
            "the loss has converged, but the job still runs");
  for (PacePoint& point : late) point.at += 60;
  EXPECT_EQ(why({.epochs = late, .losses = seen.losses}),
            "the loss should have converged by now, but the job still runs");
  const Result<Remaining> over = after(run, 10, 90);
  ASSERT_TRUE(over.ok());
  EXPECT_EQ(over.value().seconds, 0) << "all steps are done";
}

TEST(Remaining, NonsenseIsAnErrorOrANumber) {
  Random random(5);
  const std::vector<double> odd = {kNotANumber, kInfinite, -kInfinite, -1, 0, 1e-300, 1e300,
                                   1e12,        1e-12,     1,          2,  3, 1e6,    1e9};
  const auto any = [&] {
    return random.below(3) == 0 ? odd[random.below(odd.size())] : random.uniform(0, 100);
  };
  int ok = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::vector<PacePoint> steps(random.below(12));
    for (PacePoint& point : steps) point = {any(), any(), 1};
    std::vector<LossPoint> losses(random.below(12));
    for (LossPoint& point : losses) point = {any(), any()};
    if (random.below(2) == 0) {
      std::sort(steps.begin(), steps.end(),
                [](const PacePoint& a, const PacePoint& b) { return a.seconds < b.seconds; });
      std::sort(losses.begin(), losses.end(),
                [](const LossPoint& a, const LossPoint& b) { return a.epoch < b.epoch; });
    }
    JobReports told;
    told.steps = told.epochs = steps;
    told.losses = losses;
    if (random.below(2) == 0) told.total = any();
    const Result<Remaining> left = predict_remaining(told);
    if (!left.ok()) continue;
    ++ok;
    const Remaining& say = left.value();
    ASSERT_TRUE(std::isfinite(say.seconds) && std::isfinite(say.low) && std::isfinite(say.high));
    ASSERT_GE(say.low, 0);
    ASSERT_LE(say.low, say.seconds);
    ASSERT_LE(say.seconds, say.high);
  }
  EXPECT_GT(ok, 50);
}

}  // namespace
}  // namespace muster
