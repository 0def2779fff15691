#pragma once

// The training data: points on two spirals. It depends only on the seed.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <vector>

namespace trainer {

// Random numbers that depend only on the seed, purpose and key.
class Stream {
 public:
  Stream(std::uint64_t seed, std::uint64_t purpose, std::uint64_t key)
      : state_(mix(mix(mix(seed + 1) ^ purpose) ^ key)) {}

  std::uint64_t next() { return mix(state_ += 0x9e3779b97f4a7c15ULL); }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  double around_zero(double width) { return (uniform() + uniform() + uniform() - 1.5) * width; }

 private:
  static std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
  }
  std::uint64_t state_;
};

struct Point {
  double x = 0;
  double y = 0;
  double label = 0;  // 0 or 1: which spiral.
};

using Batch = std::vector<Point>;

class Spirals {
 public:
  static constexpr std::size_t kPoints = 2048;

  explicit Spirals(std::uint64_t seed) : seed_(seed), points_(kPoints), order_(kPoints) {
    Stream stream(seed, 1, 0);
    for (std::size_t i = 0; i < kPoints; ++i) {
      const double along = 0.15 + 0.85 * stream.uniform();
      const double side = i % 2 == 0 ? 0 : std::numbers::pi;
      const double angle = along * 2.5 * 2 * std::numbers::pi + side;
      points_[i] = {2 * along * std::cos(angle), 2 * along * std::sin(angle),
                    static_cast<double>(i % 2)};
    }
  }

  // Returns the points first, first + 1, ... of an endless sequence of training epochs. Each epoch
  // has its own order, and all points are moved slightly, so that epochs differ.
  Batch batch(std::uint64_t first, std::size_t size) {
    Batch result(size);
    for (std::size_t i = 0; i < size; ++i) {
      const std::uint64_t position = first + i;
      shuffle_for(position / kPoints);
      Stream moved(seed_, 2, position);
      Point point = points_[order_[position % kPoints]];
      point.x += moved.around_zero(0.1);
      point.y += moved.around_zero(0.1);
      result[i] = point;
    }
    return result;
  }

 private:
  void shuffle_for(std::uint64_t pass) {
    if (pass + 1 == shuffled_) return;
    shuffled_ = pass + 1;
    Stream stream(seed_, 3, pass);
    for (std::size_t i = 0; i < kPoints; ++i) {
      const std::size_t j = stream.next() % (i + 1);
      order_[i] = order_[j];
      order_[j] = i;
    }
  }

  std::uint64_t seed_;
  std::vector<Point> points_;
  std::vector<std::size_t> order_;
  std::uint64_t shuffled_ = 0;  // The training epoch of order_, plus 1. 0: none yet.
};

}  // namespace trainer
