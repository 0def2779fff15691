#include "engine/fit/remaining.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/types/random.h"

namespace muster {

namespace {

constexpr double kMost = 1e12;          // Steps, epochs or seconds beyond this are a mistake.
constexpr std::size_t kStretches = 16;  // Into which the past is cut at most.
constexpr std::size_t kFewest = 3;      // From which something can be told.
constexpr double kSpike = 3;
constexpr double kHalfLife = 1.0 / 3;  // Of the weight, as a part of the past.
constexpr double kMostAlike = 0.8;     // Correlation of neighbours that is believed.
constexpr double kFarther = 0.06;      // By which the band grows when it looks twice as far.
constexpr double kLeastBand = 0.02;    // Of the answer, to each side.
constexpr int kRefits = 60;
constexpr std::size_t kRefitPoints = 32;

constexpr double kLogTwo = 0.6931471805599453;

struct Stretch {
  double length = 0;  // Steps.
  double pace = 0;    // Seconds a step.
};

bool is_sane(double value) { return value >= 0 && value <= kMost; }  // Not if it is no number.

bool are_sane(std::span<const PacePoint> points) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!is_sane(points[i].seconds) || !is_sane(points[i].at)) return false;
    if (i > 0 && points[i].seconds < points[i - 1].seconds) return false;
  }
  return true;
}

// Between points of one lease that went forward. Time in which nothing was done counts to the next
// that was.
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

// What the past says of one step.
struct Pace {
  double mean = 0;    // Seconds.
  double spread = 0;  // Standard deviation of a stretch's pace; neighbours alike count for it.
  double count = 0;   // Of stretches, as many as all of one weight would have to be.
  double length = 0;  // Steps of a stretch, on average.
  double known = 0;   // Steps of all.

  // Standard deviation of the time of so many steps to come, as a part of it.
  double error(double steps) const {
    const double ahead = std::max(steps / length, 1e-6);
    return spread / mean * std::sqrt(1 / count + 1 / ahead);
  }
  // How many of those the band is wide to each side: Student's 90%, and more for looking far.
  double widths(double steps) const {
    const double free = std::max(count - 1, 1.0);
    const double student = 1.2816 * (1 + 0.55 / free + 0.85 / (free * free));
    return student * (1 + kFarther * portable_log(1 + steps / known) / kLogTwo);
  }
};

std::optional<Pace> pace_of(std::span<const PacePoint> points) {
  std::vector<Stretch> stretches = stretches_of(points);
  if (stretches.size() < kFewest) return std::nullopt;
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
  // With few of them they look less alike than they are: by about one in as many.
  const double seen = alone > 0 ? alike / alone + 1 / pace.count : 0;
  const double correlation = std::clamp(seen, 0.0, kMostAlike);
  pace.spread = std::sqrt(variance * (1 + correlation) / (1 - correlation));
  if (!(pace.mean > 0) || !std::isfinite(pace.mean) || !std::isfinite(pace.spread)) {
    return std::nullopt;
  }
  return pace;
}

double together(double one, double other) { return std::sqrt(one * one + other * other); }

Remaining with_band(Remaining answer, double factor) {
  factor = std::max(factor, 1 + kLeastBand);
  answer.low = std::min(answer.seconds / factor, kMost);
  answer.high = std::min(answer.seconds * factor, kMost);
  answer.seconds = std::min(answer.seconds, kMost);
  return answer;
}

Result<Remaining> by_steps(const JobTold& told) {
  if (!is_sane(*told.total) || !(*told.total > 0)) {
    return Error{"it has reported a total that cannot be"};
  }
  if (told.steps.empty()) return Error{"it has reported a total, but no steps"};
  Remaining answer;
  answer.done = told.steps.back().at;
  answer.end = *told.total;
  const double steps = answer.end - answer.done;
  if (steps <= 0) return answer;
  const std::optional<Pace> pace = pace_of(told.steps);
  if (!pace) return Error{"it has reported too few steps yet"};
  answer.seconds = steps * pace->mean;
  return with_band(answer, 1 + pace->widths(steps) * pace->error(steps));
}

// Of many, the first, the last, and those between evenly.
std::vector<LossPoint> thinned(std::span<const LossPoint> points) {
  if (points.size() <= kRefitPoints) return {points.begin(), points.end()};
  std::vector<LossPoint> few;
  for (std::size_t i = 0; i < kRefitPoints; ++i) {
    few.push_back(points[i * (points.size() - 1) / (kRefitPoints - 1)]);
  }
  return few;
}

// Each as likely as the others, in order.
std::vector<double> epochs_of_refits(const LossCurve& curve, std::span<const LossPoint> points,
                                     double done, const ConvergenceRule& rule) {
  const std::vector<LossPoint> few = thinned(points);
  const auto count = static_cast<double>(points.size());
  // A curve of three numbers lies nearer to its points than the truth does; and it is the last
  // third of them that it is drawn to.
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
    const double most = std::max(0.0, rule.cap - done);  // It might as well never end.
    epochs.push_back(fitted.ok() ? remaining_epochs(fitted, done, rule) : most);
  }
  std::sort(epochs.begin(), epochs.end());
  return epochs;
}

Result<Remaining> by_loss(const JobTold& told, const ConvergenceRule& rule) {
  if (told.epochs.empty()) return Error{"it has reported no epochs, and no total"};
  const Result<LossCurve> curve = fit_loss_curve(told.losses);
  if (!curve.ok()) return Error{"its loss does not say yet when it will have converged"};
  Remaining answer;
  answer.by = Remaining::By::kLoss;
  answer.done = told.epochs.back().at;
  if (answer.done >= rule.cap) {
    return Error{"its loss should have converged by now, and it goes on"};
  }
  const double epochs = remaining_epochs(curve, answer.done, rule);
  answer.end = answer.done + epochs;
  if (epochs <= 0) return Error{"its loss has converged, and it goes on"};
  const std::optional<Pace> pace = pace_of(told.epochs);
  if (!pace) return Error{"it has reported too few epochs yet"};
  answer.seconds = epochs * pace->mean;
  const std::vector<double> refits =
      epochs_of_refits(curve.value(), told.losses, answer.done, rule);
  const double slack = pace->widths(epochs) * pace->error(epochs);
  const auto tenth = refits.size() / 12;  // A little less: that the curve is one is believed too.
  // Two causes of error that have nothing to do with each other, as parts of the answer.
  const double fewer = std::max(epochs - refits[tenth], 0.0) / epochs;
  const double more = std::max(refits[refits.size() - 1 - tenth] - epochs, 0.0) / epochs;
  const Remaining below = with_band(answer, 1 + together(slack, fewer / std::max(1 - fewer, 0.05)));
  const Remaining above = with_band(answer, 1 + together(slack, more));
  answer.seconds = above.seconds;
  answer.low = below.low;
  answer.high = above.high;
  return answer;
}

}  // namespace

Result<Remaining> predict_remaining(const JobTold& told, const ConvergenceRule& rule) {
  if (!are_sane(told.steps) || !are_sane(told.epochs)) {
    return Error{"it has reported numbers that cannot be"};
  }
  if (told.total) return by_steps(told);
  if (!told.losses.empty()) return by_loss(told, rule);
  return Error{"it has reported no loss and no total"};
}

}  // namespace muster
