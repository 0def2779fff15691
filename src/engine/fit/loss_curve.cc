#include "engine/fit/loss_curve.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "base/types/check.h"

namespace muster {

namespace {

constexpr double kLaterCountsMore = 16;  // Weight ratio of successive thirds: 1 / (4^-1)^2.
// Minimum fall from first to last point, relative to the largest loss.
constexpr double kMinFall = 1e-6;
constexpr double kMinEvidence = 4;   // F statistic; see explains().
constexpr double kLastBits = 1e-15;  // Relative rounding error.

// Fits y = slope / (x + shift) + base, with epochs and losses scaled to at most 1. Then b0 = 1 /
// slope, b1 = shift / slope and b2 = base, apart from the scales. For a given shift this is a
// straight line in 1 / (x + shift) with the same errors as the loss, so the search has only one
// dimension. A search over b2 with a line through 1 / (y - b2) would distort the errors and fail if
// noise puts a loss below b2.
struct Sample {
  double x;
  double y;
  double weight;
};

struct Line {
  double shift = 0;
  double slope = 0;
  double base = 0;
  double square = 0;  // Weighted sum of squared errors.
  double tilt = 0;    // Sign of the derivative of `square` by `shift`.

  double at(double x) const { return slope / (x + shift) + base; }
};

class Search {
 public:
  explicit Search(std::vector<Sample> samples)
      : samples_(std::move(samples)), inverse_(samples_.size()) {
    for (const Sample& sample : samples_) {
      weight_ += sample.weight;
      mean_ += sample.weight * sample.y;
    }
    mean_ /= weight_;
  }

  Line best();
  double weight() const { return weight_; }
  bool explains(const Line& line) const;

 private:
  Line fit(double shift);
  Line refine(const Line& before, const Line& here, const Line& after);
  Line level(Line left, Line right);
  Line narrow(double low, double high);

  std::vector<Sample> samples_;
  std::vector<double> inverse_;  // Buffer for fit(): 1 / (x + shift) per sample.
  double weight_ = 0;
  double mean_ = 0;
};

// Best line for this shift with slope and base not negative.
Line Search::fit(double shift) {
  double mean = 0;
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    inverse_[i] = 1 / (samples_[i].x + shift);
    mean += samples_[i].weight * inverse_[i];
  }
  mean /= weight_;
  double covariance = 0;
  double variance = 0;
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    const double offset = inverse_[i] - mean;
    covariance += samples_[i].weight * offset * (samples_[i].y - mean_);
    variance += samples_[i].weight * offset * offset;
  }
  Line line{shift, 0, mean_, 0, 0};
  if (covariance > 0 && variance > 0) {
    line.slope = covariance / variance;
    line.base = mean_ - line.slope * mean;
  }
  if (line.base < 0) {
    double product = 0;
    double square = 0;
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      product += samples_[i].weight * inverse_[i] * samples_[i].y;
      square += samples_[i].weight * inverse_[i] * inverse_[i];
    }
    line.slope = product / square;
    line.base = 0;
  }
  // Slope and base are optimal for this shift, so the derivative depends on the shift only.
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    const double error = samples_[i].y - line.slope * inverse_[i] - line.base;
    line.square += samples_[i].weight * error * error;
    line.tilt += line.slope * samples_[i].weight * error * inverse_[i] * inverse_[i];
  }
  return line;
}

// Finds the minimum near a grid line that is not higher than its neighbors. If the error falls at
// one end and rises at the other, the derivative has a zero between. It can have two zeros only
// near the point where the base becomes zero.
Line Search::refine(const Line& before, const Line& here, const Line& after) {
  const Line& low = here.tilt < 0 ? here : before;
  const Line& high = here.tilt < 0 ? after : here;
  const bool smooth = (before.base > 0) == (after.base > 0);
  if (smooth && low.tilt < 0 && high.tilt > 0) return level(low, high);
  return smooth && low.shift == high.shift ? here : narrow(before.shift, after.shift);
}

// Regula falsi with the Illinois rule: halve the weight of an end that stays. About ten steps reach
// full precision.
Line Search::level(Line left, Line right) {
  Line best = left.square <= right.square ? left : right;
  int last_side = 0;
  for (int step = 0; step < 60; ++step) {
    const double part = right.tilt / (right.tilt - left.tilt);
    const Line middle = fit(right.shift - part * (right.shift - left.shift));
    if (middle.shift <= left.shift || middle.shift >= right.shift) break;
    const double moved = std::fabs(middle.shift - best.shift);
    if (middle.square <= best.square) best = middle;
    if (middle.tilt == 0 || moved <= kLastBits * middle.shift) break;
    const int side = middle.tilt < 0 ? -1 : 1;
    if (side == last_side) (side < 0 ? right : left).tilt /= 2;
    (side < 0 ? left : right) = middle;
    last_side = side;
  }
  return best;
}

// Golden-section search. 80 steps reach full precision.
Line Search::narrow(double low, double high) {
  constexpr double kGolden = 0.6180339887498949;
  Line left = fit(high - kGolden * (high - low));
  Line right = fit(low + kGolden * (high - low));
  for (int step = 0; step < 80; ++step) {
    if (left.square <= right.square) {
      high = right.shift;
      right = left;
      left = fit(high - kGolden * (high - low));
    } else {
      low = left.shift;
      left = right;
      right = fit(low + kGolden * (high - low));
    }
  }
  return left.square <= right.square ? left : right;
}

Line Search::best() {
  // From 1e-8 to 1e4, four per decade. Above that, no curve falls by more than 1e-4.
  constexpr int kShifts = 49;
  constexpr double kStep = 1.7782794100389228;
  std::vector<Line> grid;
  if (samples_.front().x > 0) grid.push_back(fit(0));  // At epoch 0 the loss would be infinite.
  double shift = 1e-8;
  for (int i = 0; i < kShifts; ++i) {
    grid.push_back(fit(shift));
    shift *= kStep;
  }
  Line best = grid.front();
  for (std::size_t i = 0; i < grid.size(); ++i) {
    const Line& before = grid[i > 0 ? i - 1 : i];
    const Line& after = grid[i + 1 < grid.size() ? i + 1 : i];
    if (grid[i].square < best.square) best = grid[i];
    if (grid[i].square > before.square || grid[i].square > after.square) continue;
    if (before.slope + grid[i].slope + after.slope == 0) continue;  // A constant fits best here.
    const Line refined = refine(before, grid[i], after);
    if (refined.square < best.square) best = refined;
  }
  return best;
}

// Unweighted F test: the reduction of squared errors per additional parameter (two), compared with
// the remaining error per degree of freedom. Without this test, the fit would find a slope in any
// noise.
bool Search::explains(const Line& line) const {
  const auto count = static_cast<double>(samples_.size());
  double mean = 0;
  for (const Sample& sample : samples_) mean += sample.y / count;
  double without = 0;
  double with = 0;
  for (const Sample& sample : samples_) {
    const double error = sample.y - line.at(sample.x);
    without += (sample.y - mean) * (sample.y - mean);
    with += error * error;
  }
  return (without - with) / 2 > kMinEvidence * with / std::max(1.0, count - 3);
}

MaybeError unusable(std::span<const LossPoint> points) {
  std::size_t epochs = 0;
  double last = -1;
  for (const LossPoint& point : points) {
    if (!std::isfinite(point.epoch) || !std::isfinite(point.loss)) {
      return Error{"an epoch or a loss is not a finite number"};
    }
    if (point.epoch < 0 || point.loss < 0) return Error{"an epoch or a loss is negative"};
    if (point.epoch < last) return Error{"the losses are not in order of epochs"};
    if (point.epoch > last) ++epochs;
    last = point.epoch;
  }
  if (epochs < 3) return Error{"losses from fewer than three epochs"};
  return std::nullopt;
}

}  // namespace

Result<LossCurve> fit_loss_curve(std::span<const LossPoint> points) {
  if (MaybeError refusal = unusable(points)) return *refusal;
  const double last = points.back().epoch;
  LossCurve curve;
  for (const LossPoint& point : points) curve.largest = std::max(curve.largest, point.loss);
  if (curve.largest == 0) return Error{"the losses do not fall"};

  std::vector<Sample> samples;
  const std::size_t segment = (points.size() + 2) / 3;
  double weight = 1;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (i > 0 && i % segment == 0) weight *= kLaterCountsMore;
    samples.push_back({points[i].epoch / last, points[i].loss / curve.largest, weight});
  }
  const double first = samples.front().x;
  Search search(std::move(samples));
  const Line line = search.best();
  const double fall = line.slope > 0 ? line.at(first) - line.at(1) : 0;
  if (!(fall > kMinFall)) return Error{"the losses do not fall"};
  if (!search.explains(line)) return Error{"the losses do not follow a falling curve"};

  const double slope = line.slope * curve.largest;
  curve.b0 = 1 / (slope * last);
  curve.b1 = line.shift / slope;
  curve.b2 = line.base * curve.largest;
  curve.residual = std::sqrt(line.square / search.weight()) * curve.largest;
  if (!std::isfinite(curve.b0) || !std::isfinite(curve.b1) || !(curve.b0 > 0)) {
    return Error{"the losses or epochs are too large or too small to compute with"};
  }
  return curve;
}

double remaining_epochs(const Result<LossCurve>& curve, double done, const ConvergenceRule& rule) {
  MUSTER_CHECK(done >= 0);
  MUSTER_CHECK(rule.window > 0);
  if (!curve.ok()) return rule.unknown;
  const double min_fall = rule.threshold * curve.value().largest;
  const auto falls = [&](int epoch) {
    return !(curve.value().at(epoch - rule.window) - curve.value().at(epoch) < min_fall);
  };
  // The fall decreases with the epoch, so binary search finds the first epoch below the threshold.
  int first = rule.window;
  int end = rule.cap + 1;
  while (first < end) {
    const int middle = first + (end - first) / 2;
    if (falls(middle)) {
      first = middle + 1;
    } else {
      end = middle;
    }
  }
  if (first <= rule.cap) return std::max(0.0, first - done);
  return done < rule.cap ? rule.cap - done : rule.unknown;
}

}  // namespace muster
