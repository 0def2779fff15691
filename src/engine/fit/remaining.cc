#include "engine/fit/remaining.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/types/random.h"

namespace muster {

namespace {

constexpr double kMax = 1e12;           // Larger numbers of steps, epochs or seconds are invalid.
constexpr std::size_t kStretches = 16;  // Maximum number of stretches of the past.
constexpr std::size_t kMin = 3;         // Minimum number of stretches for a prediction.
constexpr double kSpike = 3;            // Maximum pace ratio to the neighboring stretches.
constexpr double kHalfLife = 1.0 / 3;   // Half-life of the weights, as a fraction of the past.
constexpr double kMaxAlike = 0.8;       // Maximum correlation of neighbors.
constexpr double kFarther = 0.06;       // Relative growth of the band per doubling of the horizon.
constexpr double kMinBand = 0.02;       // Minimum relative width of the band on each side.
constexpr int kRefits = 60;
constexpr std::size_t kRefitPoints = 32;

constexpr double kLogTwo = 0.6931471805599453;

struct Stretch {
  double length = 0;  // Steps.
  double pace = 0;    // Seconds per step.
};

bool is_sane(double value) { return value >= 0 && value <= kMax; }  // False for NaN.

bool are_sane(std::span<const PacePoint> points) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!is_sane(points[i].seconds) || !is_sane(points[i].at)) return false;
    if (i > 0 && points[i].seconds < points[i - 1].seconds) return false;
  }
  return true;
}

// Intervals between successive points of one lease with progress. Time without progress belongs to
// the next interval.
std::vector<Stretch> windows_of(std::span<const PacePoint> points) {
  std::vector<Stretch> windows;
  std::optional<PacePoint> from;
  for (const PacePoint& point : points) {
    const bool follows = from && point.lease == from->lease && point.at >= from->at;
    if (follows && (point.at == from->at || point.seconds <= from->seconds)) continue;
    if (follows) {
      const double length = point.at - from->at;
      windows.push_back({length, (point.seconds - from->seconds) / length});
    }
    from = point;
  }
  return windows;
}

std::vector<Stretch> stretches_of(std::span<const PacePoint> points) {
  const std::vector<Stretch> windows = windows_of(points);
  double whole = 0;
  for (const Stretch& each : windows) whole += each.length;
  std::vector<Stretch> stretches;
  double length = 0;
  double seconds = 0;
  for (const Stretch& each : windows) {
    length += each.length;
    seconds += each.length * each.pace;
    if (length < whole / kStretches * (1 - 1e-9)) continue;
    stretches.push_back({length, seconds / length});
    length = seconds = 0;
  }
  if (length > 0) stretches.push_back({length, seconds / length});
  return stretches;
}

void cut_spikes(std::vector<Stretch>& stretches) {
  const std::vector<Stretch> as_were = stretches;
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    const double before = as_were[i == 0 ? 1 : i - 1].pace;
    const double after = as_were[i + 1 == as_were.size() ? i - 1 : i + 1].pace;
    stretches[i].pace = std::clamp(stretches[i].pace, std::min(before, after) / kSpike,
                                   std::max(before, after) * kSpike);
  }
}

// Statistics of the past pace.
struct Pace {
  double mean = 0;    // Seconds per step.
  double spread = 0;  // Standard deviation of a stretch's pace, adjusted for correlation.
  double count = 0;   // Effective number of stretches, given the weights.
  double length = 0;  // Mean steps per stretch.
  double known = 0;   // Steps of all stretches.

  // Relative standard deviation of the time for the next `steps` steps.
  double error(double steps) const {
    const double ahead = std::max(steps / length, 1e-6);
    return spread / mean * std::sqrt(1 / count + 1 / ahead);
  }
  // Half width of the band in standard deviations: Student's 90% quantile, larger for a long
  // horizon.
  double widths(double steps) const {
    const double free = std::max(count - 1, 1.0);
    const double student = 1.2816 * (1 + 0.55 / free + 0.85 / (free * free));
    return student * (1 + kFarther * portable_log(1 + steps / known) / kLogTwo);
  }
};

std::optional<Pace> pace_of(std::span<const PacePoint> points) {
  std::vector<Stretch> stretches = stretches_of(points);
  if (stretches.size() < kMin) return std::nullopt;
  cut_spikes(stretches);
  Pace pace;
  for (const Stretch& each : stretches) pace.known += each.length;
  pace.length = pace.known / static_cast<double>(stretches.size());
  std::vector<double> weights;
  double passed = 0;
  double sum = 0;
  double squares = 0;
  for (const Stretch& each : stretches) {
    passed += each.length;
    const double age = (pace.known - passed) / (pace.known * kHalfLife);
    weights.push_back(each.length * portable_exp(-age * kLogTwo));
    sum += weights.back();
    squares += weights.back() * weights.back();
    pace.mean += weights.back() * each.pace;
  }
  pace.mean /= sum;
  pace.count = std::max(sum * sum / squares, 2.0);
  double variance = 0;
  double alike = 0;
  double alone = 0;
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    const double off = stretches[i].pace - pace.mean;
    variance += weights[i] / sum * off * off;
    alone += off * off;
    if (i > 0) alike += off * (stretches[i - 1].pace - pace.mean);
  }
  variance *= pace.count / (pace.count - 1);
  // With few stretches the sample correlation is too low, by about 1 / count.
  const double seen = alone > 0 ? alike / alone + 1 / pace.count : 0;
  const double correlation = std::clamp(seen, 0.0, kMaxAlike);
  pace.spread = std::sqrt(variance * (1 + correlation) / (1 - correlation));
  if (!(pace.mean > 0) || !std::isfinite(pace.mean) || !std::isfinite(pace.spread)) {
    return std::nullopt;
  }
  return pace;
}

double root_sum_square(double one, double other) { return std::sqrt(one * one + other * other); }

Remaining with_band(Remaining answer, double factor) {
  factor = std::max(factor, 1 + kMinBand);
  answer.low = std::min(answer.seconds / factor, kMax);
  answer.high = std::min(answer.seconds * factor, kMax);
  answer.seconds = std::min(answer.seconds, kMax);
  return answer;
}

Result<Remaining> by_steps(const JobReports& told) {
  if (!is_sane(*told.total) || !(*told.total > 0)) {
    return Error{"the job has reported an invalid total"};
  }
  if (told.steps.empty()) return Error{"the job has reported a total, but no steps"};
  Remaining answer;
  answer.done = told.steps.back().at;
  answer.end = *told.total;
  const double steps = answer.end - answer.done;
  if (steps <= 0) return answer;
  const std::optional<Pace> pace = pace_of(told.steps);
  if (!pace) return Error{"the job has reported too few steps yet"};
  answer.seconds = steps * pace->mean;
  return with_band(answer, 1 + pace->widths(steps) * pace->error(steps));
}

// Returns at most kRefitPoints points, evenly spaced, including the first and the last.
std::vector<LossPoint> thinned(std::span<const LossPoint> points) {
  if (points.size() <= kRefitPoints) return {points.begin(), points.end()};
  std::vector<LossPoint> few;
  for (std::size_t i = 0; i < kRefitPoints; ++i) {
    few.push_back(points[i * (points.size() - 1) / (kRefitPoints - 1)]);
  }
  return few;
}

// Remaining epochs by curves fitted to perturbed points, ascending. All are equally likely.
std::vector<double> epochs_of_refits(const LossCurve& curve, std::span<const LossPoint> points,
                                     double done, const ConvergenceRule& rule) {
  const std::vector<LossPoint> few = thinned(points);
  const auto count = static_cast<double>(points.size());
  // A fitted curve with three parameters is closer to its points than the actual curve, mostly to
  // the heavily weighted last third. The scale corrects for this.
  const double third = std::max(count / 3, 1.0);
  const double scale = std::sqrt(third / std::max(third - 3, 1.0)) *
                       std::sqrt(static_cast<double>(few.size()) / count);
  Random random = Random(few.size()).fork("refits");
  std::vector<double> epochs;
  std::vector<LossPoint> again = few;
  for (int i = 0; i < kRefits; ++i) {
    for (std::size_t j = 0; j < few.size(); ++j) {
      const double on_curve = curve.at(few[j].epoch);
      const double off = few[j].loss - on_curve;
      again[j].loss = std::max(0.0, on_curve + off * scale * random.normal());
      if (!std::isfinite(again[j].loss)) again[j].loss = few[j].loss;
    }
    const Result<LossCurve> fitted = fit_loss_curve(again);
    // Without a curve, the job might run up to the cap.
    const double most = std::max(0.0, rule.cap - done);
    epochs.push_back(fitted.ok() ? remaining_epochs(fitted, done, rule) : most);
  }
  std::sort(epochs.begin(), epochs.end());
  return epochs;
}

Result<Remaining> by_loss(const JobReports& told, const ConvergenceRule& rule) {
  if (told.epochs.empty()) return Error{"the job has reported no epochs and no total"};
  const Result<LossCurve> curve = fit_loss_curve(told.losses);
  if (!curve.ok()) return Error{"the reported losses do not yet predict when the job converges"};
  Remaining answer;
  answer.by = Remaining::By::kLoss;
  answer.done = told.epochs.back().at;
  if (answer.done >= rule.cap) {
    return Error{"the loss should have converged by now, but the job still runs"};
  }
  const double epochs = remaining_epochs(curve, answer.done, rule);
  answer.end = answer.done + epochs;
  if (epochs <= 0) return Error{"the loss has converged, but the job still runs"};
  const std::optional<Pace> pace = pace_of(told.epochs);
  if (!pace) return Error{"the job has reported too few epochs yet"};
  answer.seconds = epochs * pace->mean;
  const std::vector<double> refits =
      epochs_of_refits(curve.value(), told.losses, answer.done, rule);
  const double slack = pace->widths(epochs) * pace->error(epochs);
  // Less than a tenth, because the curve model itself is uncertain.
  const auto tenth = refits.size() / 12;
  // Combine two independent relative errors: the pace and the number of epochs.
  const double fewer = std::max(epochs - refits[tenth], 0.0) / epochs;
  const double more = std::max(refits[refits.size() - 1 - tenth] - epochs, 0.0) / epochs;
  const Remaining below =
      with_band(answer, 1 + root_sum_square(slack, fewer / std::max(1 - fewer, 0.05)));
  const Remaining above = with_band(answer, 1 + root_sum_square(slack, more));
  answer.seconds = above.seconds;
  answer.low = below.low;
  answer.high = above.high;
  return answer;
}

}  // namespace

Result<Remaining> predict_remaining(const JobReports& told, const ConvergenceRule& rule) {
  if (!are_sane(told.steps) || !are_sane(told.epochs)) {
    return Error{"the job has reported invalid numbers"};
  }
  if (told.total) return by_steps(told);
  if (!told.losses.empty()) return by_loss(told, rule);
  return Error{"the job has reported no loss and no total"};
}

}  // namespace muster
