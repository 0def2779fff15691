#include "engine/fit/memory_model.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <list>
#include <vector>

#include "base/types/random.h"
#include "engine/fit/io_simulation_testing.h"
#include "engine/model/profile.h"
#include "tests/campaign.h"

namespace muster {
namespace {

constexpr int kEpochs = 5;

DataFacts facts_of(const IoScene& scene) {
  return {scene.dataset_mib(), scene.mib_per_step(), 1000, scene.mem_mib_per_s,
          scene.storage_mib_per_s};
}

// As profiling does it: a run with everything cached, and the rest computed.
double predicted(IoScene scene, const DataFacts& facts) {
  const double mem_mib = facts.base_mem_mib + scene.cache_mib;
  scene.cache_mib = scene.dataset_mib() + 1;
  return step_seconds(IoSimulation(scene, 5).run(kEpochs).step_seconds, mem_mib, facts);
}

// The variance of a step's fetch time, in squares of its mean.
double fetch_variance(const IoScene& scene) {
  const double cached = std::min(1.0, scene.cache_mib / scene.dataset_mib());
  double mean = 0, square = 0;
  for (const double mib : scene.item_mib) {
    const double memory = mib / scene.mem_mib_per_s;
    const double storage = mib / scene.storage_mib_per_s;
    mean += cached * memory + (1 - cached) * storage;
    square += cached * memory * memory + (1 - cached) * storage * storage;
  }
  const double n = static_cast<double>(scene.item_mib.size());
  mean /= n;
  return (square / n / (mean * mean) - 1) / static_cast<double>(scene.batch);
}

double fetch_seconds(const IoScene& scene) {
  const double cached = std::min(1.0, scene.cache_mib / scene.dataset_mib());
  return scene.mib_per_step() *
         (cached / scene.mem_mib_per_s + (1 - cached) / scene.storage_mib_per_s);
}

double log_uniform(Random& random, double low, double high) {
  return low * std::pow(high / low, random.uniform());
}

// A third each: computing is what takes long, fetching is, both take within 10 % the same.
IoScene draw_scene(Random& random, int number) {
  IoScene scene;
  constexpr std::size_t kBatches[] = {8, 16, 32, 64, 128};
  scene.batch = kBatches[random.below(5)];
  const std::size_t steps = 200 + random.below(200);
  const double mean_mib = log_uniform(random, 0.02, 4);
  const double spread = random.uniform(0, 0.5);
  for (std::size_t i = 0; i < steps * scene.batch; ++i) {
    scene.item_mib.push_back(mean_mib * random.uniform(1 - spread, 1 + spread));
  }
  const double part = number % 7 == 0 ? 0.0 : number % 7 == 1 ? 1.001 : random.uniform(0.05, 0.97);
  scene.cache_mib = scene.dataset_mib() * part;
  scene.storage_mib_per_s = log_uniform(random, 40, 3000);
  scene.mem_mib_per_s = scene.storage_mib_per_s * log_uniform(random, 1.5, 100);
  scene.readers = 1 + static_cast<int>(random.below(16));
  constexpr double kLow[] = {1.3, 0.05, 0.9};
  constexpr double kHigh[] = {10, 0.8, 1.1};
  scene.compute_seconds =
      fetch_seconds(scene) * log_uniform(random, kLow[number % 3], kHigh[number % 3]);
  return scene;
}

// Two steps per reader, as in PyTorch. memory_model.h describes when that is not enough.
std::size_t queue_for(const IoScene& scene) {
  if (scene.cache_mib >= scene.dataset_mib()) return static_cast<std::size_t>(2 * scene.readers);
  const double longest_item = static_cast<double>(scene.readers) *
                              *std::ranges::max_element(scene.item_mib) / scene.storage_mib_per_s;
  const double wanted =
      std::max(fetch_variance(scene) / 0.04, 2 * longest_item / fetch_seconds(scene));
  return std::max(static_cast<std::size_t>(2 * scene.readers),
                  static_cast<std::size_t>(std::ceil(wanted)));
}

TEST(MemoryModel, IsWithin3PercentOfAnExactSimulation) {
  const int cases = static_cast<int>(campaign_size(90, 6000));
  Random random(20);
  for (int number = 0; number < cases; ++number) {
    IoScene scene = draw_scene(random, number);
    scene.queue = queue_for(scene);
    const DataFacts facts = facts_of(scene);
    const IoOutcome exact = IoSimulation(scene, static_cast<std::uint64_t>(number)).run(kEpochs);
    const double said = predicted(scene, facts);
    const double off = std::abs(said / exact.step_seconds - 1);
    EXPECT_LE(off, 0.03) << fmt::format(
        "case {}: {:.4f} s said, {:.4f} s simulated; batch {}, cached {:.2f}, queue {}, readers "
        "{}, compute {:.4f} s",
        number, said, exact.step_seconds, scene.batch, scene.cache_mib / scene.dataset_mib(),
        scene.queue, scene.readers, scene.compute_seconds);
    // At most one item is not cached because the rest of the cache is too small.
    EXPECT_NEAR(missed_mib_per_epoch(facts.base_mem_mib + scene.cache_mib, facts), exact.missed_mib,
                2 * *std::ranges::max_element(scene.item_mib) + 1e-6);
  }
}

// One reader, and computing takes as long as fetching does.
IoScene balanced_scene(std::size_t batch, double cached) {
  IoScene scene;
  scene.batch = batch;
  scene.item_mib.assign(2000 * batch, 0.1);
  scene.cache_mib = scene.dataset_mib() * cached;
  scene.storage_mib_per_s = 100;
  scene.mem_mib_per_s = 20'000;
  scene.compute_seconds = fetch_seconds(scene);
  return scene;
}

TEST(MemoryModel, AShortQueueLosesByTheVarianceOfAStep) {
  for (const std::size_t batch : {8U, 16U, 64U}) {
    IoScene scene = balanced_scene(batch, 0.7);
    const double said = predicted(scene, facts_of(scene));
    const double variance = 0.7 / (0.3 * static_cast<double>(batch));
    EXPECT_NEAR(fetch_variance(scene), variance, 0.05 * variance);
    for (const std::size_t queue : {2U, 4U, 8U}) {
      scene.queue = queue;
      const double lost = IoSimulation(scene, 3).run(kEpochs).step_seconds / said - 1;
      EXPECT_GE(lost, 0) << batch << ", " << queue;
      EXPECT_LE(lost, variance / (2 * static_cast<double>(queue) - 1) + 0.005)
          << batch << ", " << queue;
    }
  }
}

TEST(MemoryModel, AwayFromTheBalanceTwoStepsAreEnough) {
  for (const double factor : {0.6, 1.6}) {
    IoScene scene = balanced_scene(16, 0.7);
    scene.compute_seconds *= factor;
    const double exact = IoSimulation(scene, 3).run(kEpochs).step_seconds;
    EXPECT_NEAR(predicted(scene, facts_of(scene)) / exact, 1, 0.01) << factor;
  }
}

TEST(MemoryModel, ReadersOfOneDeviceAreNeverSlowerThanSaidAndLessThanTwiceAsFast) {
  Random random(21);
  double most = 0;
  for (int number = 0; number < 60; ++number) {
    IoScene scene = draw_scene(random, number);
    scene.shared_storage = true;
    scene.queue = queue_for(scene);
    const double exact = IoSimulation(scene, 4).run(kEpochs).step_seconds;
    const double slower_said = predicted(scene, facts_of(scene)) / exact;
    EXPECT_GE(slower_said, 0.97) << number;
    EXPECT_LE(slower_said, 2.0) << number;
    most = std::max(most, slower_said);
  }
  EXPECT_GT(most, 1.1);  // It does happen.
}

// ---- why the cache must not evict

// Hits of a cache that drops what was used longest ago, from the second epoch on.
double lru_hit_part(std::size_t items, std::size_t room, int epochs) {
  Random random(9);
  std::vector<std::size_t> order(items);
  for (std::size_t i = 0; i < items; ++i) order[i] = i;
  std::list<std::size_t> held;  // The latest first.
  std::vector<std::list<std::size_t>::iterator> where(items, held.end());
  std::size_t hits = 0;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (std::size_t i = items; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    for (const std::size_t item : order) {
      if (where[item] != held.end()) {
        hits += epoch > 0 ? 1 : 0;
        held.erase(where[item]);
      } else if (held.size() == room) {
        where[held.back()] = held.end();
        held.pop_back();
      }
      held.push_front(item);
      where[item] = held.begin();
    }
  }
  return static_cast<double>(hits) / (static_cast<double>(items) * (epochs - 1));
}

TEST(MemoryModel, ACacheThatEvictsHitsFarLess) {
  for (const double part : {0.25, 0.5, 0.75, 0.9}) {
    constexpr std::size_t kItems = 20'000;
    const double lru = lru_hit_part(kItems, static_cast<std::size_t>(part * kItems), 6);
    EXPECT_NEAR(lru, part + (1 - part) * std::log(1 - part), 0.01) << part;
    EXPECT_LT(lru, part - 0.15) << part;
    // As the model has it, and the simulation above.
    EXPECT_NEAR(cached_part(part * kItems, {kItems, 1, 0, 1, 1}), part, 1e-9);
  }
}

// ---- the rest of the header

// 100 GiB in steps of 100 MiB, 4 GiB for itself, storage 40 times slower than memory.
constexpr DataFacts kFacts = {102'400, 100, 4096, 20'000, 500};

TEST(MemoryModel, AStepTakesWhatItsSlowerHalfTakes) {
  EXPECT_DOUBLE_EQ(step_seconds(0.1, 4096, kFacts), 0.2);            // Everything from storage.
  EXPECT_DOUBLE_EQ(step_seconds(0.1, 0, kFacts), 0.2);               // As at its base.
  EXPECT_DOUBLE_EQ(step_seconds(0.1, 4096 + 102'400, kFacts), 0.1);  // As measured.
  EXPECT_DOUBLE_EQ(step_seconds(0.1, 4096 + 25'600, kFacts), 0.15 + 0.00125);
  EXPECT_DOUBLE_EQ(step_seconds(0.3, 4096, kFacts), 0.3);  // Computing is slower.
}

TEST(MemoryModel, KnowsWhereStorageStopsBeingTheBottleneck) {
  // A tenth of a second for 100 MiB: 0.001 = (1 - x) / 20000 + x / 500, x = 0.48718.
  EXPECT_EQ(least_full_speed_mem_mib(0.1, kFacts), 56'609);
  EXPECT_DOUBLE_EQ(step_seconds(0.1, 56'609, kFacts), 0.1);
  EXPECT_GT(step_seconds(0.1, 56'608, kFacts), 0.1);
  EXPECT_EQ(least_full_speed_mem_mib(0.3, kFacts), 4096);
  EXPECT_EQ(least_full_speed_mem_mib(0.005, kFacts), 4096 + 102'400);
}

TEST(MemoryModel, WhatWasMeasuredOutweighsTheBandwidths) {
  // 100 MiB in 1 ms exceed the stated memory bandwidth.
  EXPECT_DOUBLE_EQ(step_seconds(0.001, 4096 + 102'400, kFacts), 0.001);
  DataFacts upside_down = kFacts;
  upside_down.storage_mib_per_s = 40'000;
  double last = 1;
  for (double mem = 0; mem < 120'000; mem += 5000) {
    const double now = step_seconds(0.001, mem, upside_down);
    EXPECT_LE(now, last);
    last = now;
  }
  EXPECT_EQ(least_full_speed_mem_mib(0.1, upside_down), 4096);
}

TEST(MemoryModel, StorageIsWantedForWhatIsMissedOnly) {
  EXPECT_DOUBLE_EQ(storage_wanted_mib_per_s(0.1, 4096, kFacts), 500);  // Uses the full bandwidth.
  EXPECT_DOUBLE_EQ(storage_wanted_mib_per_s(1.0, 4096, kFacts), 100);
  EXPECT_DOUBLE_EQ(storage_wanted_mib_per_s(1.0, 4096 + 51'200, kFacts), 50 / (1 - 0.0025));
  EXPECT_EQ(storage_wanted_mib_per_s(1.0, 4096 + 102'400, kFacts), 0);
  EXPECT_DOUBLE_EQ(missed_mib_per_epoch(4096 + 51'200, kFacts), 51'200);
}

TEST(MemoryModel, PointsAreTenthsAndBendsAndCarryTheCurve) {
  const std::vector<double> measured = {0.02, 0.05, 0.1, 0.15};
  const std::vector<std::int64_t> points = memory_points(measured, kFacts);
  EXPECT_TRUE(std::ranges::is_sorted(points, std::less_equal<>()));
  EXPECT_LE(points.size(), 60U);
  for (int i = 0; i <= 10; ++i) {
    EXPECT_TRUE(std::ranges::binary_search(points, 4096 + 10'240 * i)) << i;
  }
  SpeedMatrix matrix = {{}, points, {}};
  for (std::size_t row = 0; row < measured.size(); ++row) {
    const double seconds = measured[measured.size() - 1 - row];
    EXPECT_TRUE(std::ranges::binary_search(points, least_full_speed_mem_mib(seconds, kFacts)));
    matrix.cpu_milli.push_back(static_cast<std::int64_t>(1000 * (row + 1)));
    for (const std::int64_t mem : points) {
      matrix.speed.push_back(1 / step_seconds(seconds, static_cast<double>(mem), kFacts));
    }
  }
  ASSERT_FALSE(check_matrix(matrix));
  const Profile profile = Profile::matrix("m", matrix);
  for (std::int64_t mem = 4096; mem < 4096 + 102'400; mem += 64) {
    for (std::size_t row = 0; row < measured.size(); ++row) {
      const double exact = 1 / step_seconds(measured[3 - row], static_cast<double>(mem), kFacts);
      const double read = profile.speed(matrix.cpu_milli[row], mem, 1000);
      EXPECT_NEAR(read / exact, 1, 0.0201) << mem << ", row " << row;
    }
  }
}

TEST(MemoryModel, PointsOfOddData) {
  EXPECT_EQ(memory_points({}, {}), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(memory_points(std::vector{0.1}, {0, 0, 500.5, 0, 0}), (std::vector<std::int64_t>{501}));
  // Three MiB of data: as many points as there are whole MiB.
  EXPECT_EQ(memory_points(std::vector{1e-9}, {3, 1, 10, 1000, 1}),
            (std::vector<std::int64_t>{10, 11, 12, 13}));
  const std::vector<double> many(100, 1e-6);
  EXPECT_LE(memory_points(many, {1e12, 1, 0, 1e6, 1e-3}).size(), 200U);
}

TEST(MemoryModel, RefusesFactsThatAreNone) {
  EXPECT_FALSE(check_data(kFacts));
  EXPECT_FALSE(check_data({}));
  DataFacts bad = kFacts;
  bad.storage_mib_per_s = 0;
  EXPECT_EQ(check_data(bad)->message, "storage_mib_per_s: not a positive number up to 1e12: 0");
  bad = kFacts;
  bad.dataset_mib = -1;
  EXPECT_EQ(check_data(bad)->message, "dataset_mib: not a non-negative number up to 1e12: -1");
  bad.dataset_mib = std::nan("");
  EXPECT_TRUE(check_data(bad));
}

}  // namespace
}  // namespace muster
