#include "engine/fit/allocate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/types/random.h"

namespace muster {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// A job whose speed with w workers is speeds[w - 1].
ElasticJob job(double remaining, std::vector<double> speeds, int cost = 1) {
  ElasticJob made;
  made.remaining = remaining;
  made.most = static_cast<int>(speeds.size());
  made.cost = cost;
  made.speed = [speeds = std::move(speeds)](int workers) {
    return speeds.at(static_cast<std::size_t>(workers - 1));
  };
  return made;
}

ElasticJob linear(double remaining, int most, int cost = 1) {
  std::vector<double> speeds(static_cast<std::size_t>(most));
  std::iota(speeds.begin(), speeds.end(), 1.0);
  return job(remaining, speeds, cost);
}

// Naive reference implementation: considers every job before every worker.
std::vector<int> allocate_naively(const std::vector<ElasticJob>& jobs, std::int64_t gpus) {
  std::vector<int> workers(jobs.size(), 0);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const int cost = jobs[i].least * jobs[i].cost;
    if (cost > gpus) continue;
    workers[i] = jobs[i].least;
    gpus -= cost;
  }
  const auto time = [&](std::size_t i, int count) {
    const double speed = jobs[i].speed(count);
    return jobs[i].remaining == 0 ? 0 : speed > 0 ? jobs[i].remaining / speed : kNever;
  };
  while (true) {
    std::size_t best = jobs.size();
    double most = 0;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (workers[i] == 0 || workers[i] == jobs[i].most || jobs[i].cost > gpus) continue;
      const double gain =
          jobs[i].priority * (time(i, workers[i]) - time(i, workers[i] + 1)) / jobs[i].cost;
      if (gain > most) {  // Never if it is no number.
        most = gain;
        best = i;
      }
    }
    if (best == jobs.size()) return workers;
    ++workers[best];
    gpus -= jobs[best].cost;
  }
}

ElasticJob random_job(Random& random) {
  std::vector<double> speeds(1 + random.below(12));
  double speed = random.below(8) == 0 ? 0 : random.uniform(0.1, 2);
  for (double& value : speeds) {
    value = speed;
    // Mostly upwards by less and less, at times level or down, in steps that make ties.
    speed += random.below(6) == 0 ? -0.25 * static_cast<double>(random.below(3))
                                  : 0.5 / static_cast<double>(1 + random.below(4));
  }
  const int cost = 1 + static_cast<int>(random.below(3));
  ElasticJob made = job(static_cast<double>(random.below(6)), speeds, cost);
  made.least = 1 + static_cast<int>(random.below(std::min<std::size_t>(3, speeds.size())));
  made.priority = random.below(3) == 0 ? 0.95 : 1;
  return made;
}

TEST(Allocate, AgreesWithTheNaiveTwin) {
  int full = 0;
  int spare = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(testing::Message() << "reproduce with seed " << seed);
    Random random(seed);
    std::vector<ElasticJob> jobs(random.below(8));
    for (ElasticJob& made : jobs) made = random_job(random);
    if (jobs.size() > 2 && random.below(2) == 0) jobs[2] = jobs[0];  // A tie all the way.
    const auto gpus = static_cast<std::int64_t>(random.below(50));
    const std::vector<int> workers = allocate_by_gain(jobs, gpus);
    ASSERT_EQ(workers, allocate_naively(jobs, gpus));
    int used = 0;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      ASSERT_TRUE(workers[i] == 0 || (jobs[i].least <= workers[i] && workers[i] <= jobs[i].most));
      used += workers[i] * jobs[i].cost;
    }
    ASSERT_LE(used, gpus);
    (used == gpus ? full : spare) += 1;
  }
  EXPECT_GT(full, 500);
  EXPECT_GT(spare, 200);
}

TEST(Allocate, LeastComesFirstInOrderWhileItLasts) {
  std::vector<ElasticJob> jobs = {linear(1, 8), linear(1000, 8), linear(1, 8), linear(1, 8)};
  jobs[1].least = 3;
  EXPECT_EQ(allocate_by_gain(jobs, 2), (std::vector<int>{1, 0, 1, 0}));
  EXPECT_EQ(allocate_by_gain(jobs, 4), (std::vector<int>{1, 3, 0, 0}));
  EXPECT_EQ(allocate_by_gain(jobs, 6), (std::vector<int>{1, 3, 1, 1}));
  EXPECT_EQ(allocate_by_gain(jobs, 7), (std::vector<int>{1, 4, 1, 1}));
  EXPECT_EQ(allocate_by_gain(jobs, 0), (std::vector<int>{0, 0, 0, 0}));
  EXPECT_EQ(allocate_by_gain({}, 5), std::vector<int>{});
}

TEST(Allocate, TheNextWorkerGoesWhereItSavesMostForItsGpus) {
  // 12 -> 6 -> 4 -> 3 and 20 -> 10 -> 6.7 -> 5: gains 6, 2, 1 and 10, 3.3, 1.7.
  EXPECT_EQ(allocate_by_gain(std::vector{linear(12, 4), linear(20, 4)}, 3),
            (std::vector<int>{1, 2}));
  EXPECT_EQ(allocate_by_gain(std::vector{linear(12, 4), linear(20, 4)}, 5),
            (std::vector<int>{2, 3}));
  // With two GPUs per worker, the second job gains 5 per GPU.
  EXPECT_EQ(allocate_by_gain(std::vector{linear(12, 4), linear(20, 4, 2)}, 4),
            (std::vector<int>{2, 1}));
  // Where its two GPUs are no longer left, the other job gets the one.
  EXPECT_EQ(allocate_by_gain(std::vector{linear(2, 4), linear(20, 4, 2)}, 4),
            (std::vector<int>{2, 1}));
}

TEST(Allocate, StopsWhereNothingIsGained) {
  const std::vector<ElasticJob> jobs = {job(5, {1, 2, 2, 9}), job(5, {3, 2, 9}), linear(0, 9)};
  EXPECT_EQ(allocate_by_gain(jobs, 100), (std::vector<int>{2, 1, 1}));
}

TEST(Allocate, TiesGoToTheEarlierAndYoungJobsStandBack) {
  std::vector<ElasticJob> jobs = {linear(10, 4), linear(10, 4), linear(10, 4)};
  EXPECT_EQ(allocate_by_gain(jobs, 5), (std::vector<int>{2, 2, 1}));
  jobs[0].priority = 0.95;
  EXPECT_EQ(allocate_by_gain(jobs, 5), (std::vector<int>{1, 2, 2}));
}

TEST(Allocate, WorkThatWouldNeverEndIsHelpedFirst) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<ElasticJob> jobs = {linear(1000, 4), job(1, {0, 0.1, 0.1}), job(1, {0, 0, 5}),
                                        job(1, {nan, nan}), job(1, {1, nan})};
  EXPECT_EQ(allocate_by_gain(jobs, 6), (std::vector<int>{1, 2, 1, 1, 1}));
  EXPECT_EQ(allocate_by_gain(jobs, 60), (std::vector<int>{4, 2, 1, 1, 1}));
}

TEST(Allocate, AsksForEachSpeedOnce) {
  std::vector<int> asked(65, 0);
  ElasticJob counting;
  counting.remaining = 100;
  counting.most = 64;
  counting.speed = [&](int workers) {
    ++asked[static_cast<std::size_t>(workers)];
    return std::sqrt(workers);
  };
  EXPECT_EQ(allocate_by_gain(std::vector{counting, linear(100, 64)}, 90)[1] > 1, true);
  EXPECT_GT(std::accumulate(asked.begin(), asked.end(), 0), 10);
  for (const int times : asked) EXPECT_LE(times, 1);
}

// A running job with `held` workers that loses the restart time if the number changes.
ElasticJob running(ElasticJob job, int held, double restart) {
  job.held = held;
  job.restart = restart;
  return job;
}

TEST(Allocate, WorkersChangeHandsOnlyWhereThatIsWorthTwoRestarts) {
  // A seventh worker would save the first job 120 / 6 - 120 / 7 = 2.9, and the fourth one saves the
  // second 100 / 3 - 100 / 4 = 8.3.
  const auto share = [](double restart) {
    return allocate_by_gain(
        std::vector{running(linear(120, 8), 7, restart), running(linear(100, 8), 3, restart)}, 10);
  };
  EXPECT_EQ(share(0), (std::vector<int>{5, 5}));
  EXPECT_EQ(share(2), (std::vector<int>{5, 5}));
  EXPECT_EQ(share(20), (std::vector<int>{7, 3}));
  // A job that does not run yet loses nothing.
  EXPECT_EQ(allocate_by_gain(std::vector{running(linear(120, 8), 7, 2), linear(100, 8)}, 10),
            (std::vector<int>{5, 5}));
}

TEST(Allocate, GrowsIntoWhatIsIdleOnlyWhereThatIsWorthARestart) {
  // The workers that a job with two of them gets.
  const auto workers = [](double work, double restart, int idle) {
    return allocate_by_gain(std::vector{running(linear(work, 12), 2, restart)}, idle).front();
  };
  // From 2 to 3 workers: 10 saved. To 4: 15; to 5: 18, to 6: 20, to 12: 25.
  EXPECT_EQ(workers(60, 9, 100), 12);
  EXPECT_EQ(workers(60, 17, 100), 12);
  EXPECT_EQ(workers(60, 17, 5), 5);
  EXPECT_EQ(workers(60, 17, 4), 2);
  EXPECT_EQ(workers(60, 25.1, 100), 2);
  EXPECT_EQ(workers(0, 9, 100), 2);
}

// Workers allocated by gain stay unchanged if nothing changes.
TEST(Allocate, SettlesDown) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(testing::Message() << "reproduce with seed " << seed);
    Random random(seed);
    const double restart = random.uniform(0, 10);
    std::vector<ElasticJob> jobs;
    int gpus = static_cast<int>(random.below(10));
    for (std::uint64_t i = 0; i <= random.below(8); ++i) {
      const double fixed = random.uniform(0, 0.2);
      std::vector<double> speeds;
      for (int w = 1; w <= 12; ++w) speeds.push_back(1 / ((1 - fixed) / w + fixed));
      jobs.push_back(
          running(job(random.uniform(0, 500), speeds), static_cast<int>(random.below(6)), restart));
      gpus += jobs.back().held;
    }
    const std::vector<int> first = allocate_by_gain(jobs, gpus);
    for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i].held = first[i];
    EXPECT_EQ(allocate_by_gain(jobs, gpus), first);
  }
}

TEST(Allocate, GrowsAsFarAsThePurseAllows) {
  const std::vector<ElasticJob> jobs = {linear(10, 9), linear(90, 9), linear(90, 9), linear(90, 9)};
  std::vector<std::int64_t> left = {2, 3, 0, 5};
  std::vector<int> workers = {1, 2, 3, 0};
  const GpuBudget budget = {[&](std::size_t i) { return left[i]; },
                            [&](std::size_t i, std::int64_t gpus) { left[i] -= gpus; }};
  grow_by_gain(jobs, workers, budget);
  EXPECT_EQ(workers, (std::vector<int>{3, 5, 3, 0}));
  EXPECT_EQ(left, (std::vector<std::int64_t>{0, 0, 0, 5}));
}

}  // namespace
}  // namespace muster
