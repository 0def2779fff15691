#pragma once

// Test helper for the memory model: an exact simulation, per item, of a training job that reads its
// data through a cache without eviction.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/types/random.h"

namespace muster {

// A training job that reads all items of its data set in a new random order each epoch.
struct IoScene {
  std::vector<double> item_mib;
  std::size_t batch = 1;  // Items per step.
  double cache_mib = 0;
  double mem_mib_per_s = 0, storage_mib_per_s = 0;  // Total for all readers.
  double compute_seconds = 0;                       // Per step.
  int readers = 1;                                  // Threads; each reads one item at a time.
  std::size_t queue = 2;                            // Maximum number of prefetched steps.
  // True: one device serves one item at a time at full bandwidth. False: each reader has an equal
  // share of the bandwidth.
  bool shared_storage = false;

  double dataset_mib() const {
    double sum = 0;
    for (const double mib : item_mib) sum += mib;
    return sum;
  }
  double mib_per_step() const {
    return dataset_mib() / static_cast<double>(item_mib.size()) * static_cast<double>(batch);
  }
};

struct IoOutcome {
  double step_seconds = 0;  // Mean, without the first epoch.
  double missed_mib = 0;    // Mean per epoch, without the first epoch.
};

// Readers take items in order, each when it is idle and the queue has space. A step takes its items
// when all are loaded and the previous step is done; this frees its queue slot.
class IoSimulation {
 public:
  IoSimulation(const IoScene& scene, std::uint64_t seed)
      : scene_(scene),
        random_(seed),
        cached_(scene.item_mib.size(), false),
        reader_free_(static_cast<std::size_t>(scene.readers), 0.0),
        order_(scene.item_mib.size()) {
    for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = i;
  }

  IoOutcome run(int epochs) {
    const std::size_t steps = order_.size() / scene_.batch;
    double first_epoch_end = 0;
    double missed = 0;
    for (int epoch = 0; epoch < epochs; ++epoch) {
      shuffle();
      missed_mib_ = 0;
      for (std::size_t step = 0; step < steps; ++step) make_step(step * scene_.batch);
      if (epoch == 0) first_epoch_end = done_;
      if (epoch > 0) missed += missed_mib_;
    }
    const double later = epochs - 1;
    return {(done_ - first_epoch_end) / (later * static_cast<double>(steps)), missed / later};
  }

 private:
  void shuffle() {
    for (std::size_t i = order_.size(); i > 1; --i) {
      std::swap(order_[i - 1], order_[random_.below(i)]);
    }
  }

  void make_step(std::size_t first) {
    const std::size_t before = taken_.size();
    const double room = before < scene_.queue ? 0.0 : taken_[before - scene_.queue];
    double ready = 0;
    for (std::size_t i = 0; i < scene_.batch; ++i) {
      ready = std::max(ready, fetch(order_[first + i], room));
    }
    taken_.push_back(std::max(ready, done_));
    done_ = taken_.back() + scene_.compute_seconds;
  }

  // Returns the time at which the item is loaded.
  double fetch(std::size_t item, double room) {
    const auto reader = std::ranges::min_element(reader_free_);
    const double begin = std::max(*reader, room);
    const double mib = scene_.item_mib[item];
    const double share = static_cast<double>(scene_.readers);
    if (cached_[item]) {
      *reader = begin + mib * share / scene_.mem_mib_per_s;
    } else if (scene_.shared_storage) {
      device_free_ = std::max(begin, device_free_) + mib / scene_.storage_mib_per_s;
      *reader = device_free_;
    } else {
      *reader = begin + mib * share / scene_.storage_mib_per_s;
    }
    if (!cached_[item]) {
      missed_mib_ += mib;
      if (held_mib_ + mib <= scene_.cache_mib) {
        cached_[item] = true;
        held_mib_ += mib;
      }
    }
    return *reader;
  }

  const IoScene& scene_;
  Random random_;
  std::vector<bool> cached_;
  std::vector<double> reader_free_;
  std::vector<std::size_t> order_;
  std::vector<double> taken_;  // Time at which each step took its items.
  double device_free_ = 0;
  double done_ = 0;
  double held_mib_ = 0;
  double missed_mib_ = 0;
};

}  // namespace muster
