#pragma once

// A small network that learns on which of two spirals a point is. The result depends only on the
// seed and the batches. The code uses no threads and no files.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "spirals.h"

namespace trainer {

// Two inputs, two hidden tanh layers, one output; trained by stochastic gradient descent with
// momentum. A checkpoint needs only `weights` and `momentum`.
class Network {
 public:
  static constexpr std::size_t kHidden = 32;

  explicit Network(std::uint64_t seed) : weights(kWeights), momentum(kWeights), slope_(kWeights) {
    Stream stream(seed, 4, 0);
    for (double& weight : weights) weight = stream.around_zero(0.8);
  }

  // Does one training step. Returns the mean loss of the batch before the step.
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
  // Index of each layer's first weight. The bias of a unit precedes its weights.
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

  // Adds the gradient of one point's loss to `slope_`. Returns the loss.
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
