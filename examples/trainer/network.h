#pragma once

// What is learnt and what learns: points on two spirals, and a small network that tells which of
// the two a point is on. Everything is a function of the seed; nothing here knows of threads or
// files.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <vector>

namespace trainer {

// The same numbers from the same keys, wherever and in whatever order they are asked for.
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

  // Points first, first + 1, ... of an endless run over the data, each pass in an order of its own,
  // slightly moved so that no two passes are alike.
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
  std::uint64_t shuffled_ = 0;  // The pass that order_ is of, plus one.
};

// Two inputs, two hidden layers of tanh, one output; stochastic gradient descent with momentum. All
// that a checkpoint must hold is in `weights` and `momentum`.
class Network {
 public:
  static constexpr std::size_t kHidden = 32;

  explicit Network(std::uint64_t seed) : weights(kWeights), momentum(kWeights), slope_(kWeights) {
    Stream stream(seed, 4, 0);
    for (double& weight : weights) weight = stream.around_zero(0.8);
  }

  // One step down the slope of a batch's mean loss, which it gives back as it was before the step.
  double train(const Batch& batch) {
    std::fill(slope_.begin(), slope_.end(), 0.0);
    double loss = 0;
    for (const Point& point : batch) loss += learn(point);
    const double share = 1.0 / static_cast<double>(batch.size());
    for (std::size_t i = 0; i < kWeights; ++i) {
      momentum[i] = kMomentum * momentum[i] - kRate * share * slope_[i];
      weights[i] += momentum[i];
    }
    return loss * share;
  }

  bool right(const Point& point) { return (forward(point) > 0) == (point.label > 0.5); }

  std::vector<double> weights;
  std::vector<double> momentum;

 private:
  static constexpr double kRate = 0.05;
  static constexpr double kMomentum = 0.9;
  // Where each layer's weights begin; a unit's bias stands before its weights.
  static constexpr std::size_t kSecond = kHidden * 3;
  static constexpr std::size_t kLast = kSecond + kHidden * (kHidden + 1);
  static constexpr std::size_t kWeights = kLast + kHidden + 1;

  double forward(const Point& point) {
    for (std::size_t unit = 0; unit < kHidden; ++unit) {
      const double* w = &weights[unit * 3];
      first_[unit] = std::tanh(w[0] + w[1] * point.x + w[2] * point.y);
    }
    for (std::size_t unit = 0; unit < kHidden; ++unit) {
      const double* w = &weights[kSecond + unit * (kHidden + 1)];
      double sum = w[0];
      for (std::size_t i = 0; i < kHidden; ++i) sum += w[i + 1] * first_[i];
      second_[unit] = std::tanh(sum);
    }
    const double* w = &weights[kLast];
    double sum = w[0];
    for (std::size_t i = 0; i < kHidden; ++i) sum += w[i + 1] * second_[i];
    return sum;
  }

  // Adds the slope of one point's loss.
  double learn(const Point& point) {
    const double output = forward(point);
    const double sign = point.label > 0.5 ? 1 : -1;
    const double margin = sign * output;
    // log(1 + exp(-margin)), without overflow for margins of any size.
    const double loss = std::log1p(std::exp(-std::abs(margin))) + (margin < 0 ? -margin : 0);
    const double error = -sign / (1 + std::exp(margin));

    double back_first[kHidden] = {};
    slope_[kLast] += error;
    for (std::size_t unit = 0; unit < kHidden; ++unit) {
      slope_[kLast + 1 + unit] += error * second_[unit];
      const double back = error * weights[kLast + 1 + unit] * (1 - second_[unit] * second_[unit]);
      const std::size_t at = kSecond + unit * (kHidden + 1);
      slope_[at] += back;
      for (std::size_t i = 0; i < kHidden; ++i) {
        slope_[at + 1 + i] += back * first_[i];
        back_first[i] += back * weights[at + 1 + i];
      }
    }
    for (std::size_t unit = 0; unit < kHidden; ++unit) {
      const double back = back_first[unit] * (1 - first_[unit] * first_[unit]);
      double* slope = &slope_[unit * 3];
      slope[0] += back;
      slope[1] += back * point.x;
      slope[2] += back * point.y;
    }
    return loss;
  }

  std::vector<double> slope_;
  double first_[kHidden] = {};
  double second_[kHidden] = {};
};

}  // namespace trainer
