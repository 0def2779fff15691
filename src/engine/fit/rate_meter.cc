#include "engine/fit/rate_meter.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace muster {

namespace {

constexpr std::size_t kMinBins = 4;  // Minimum for known(), unless the time limit is reached.

// Variance of the slope through a random walk, relative to that of its mean.
constexpr double kSlopeVariance = 1.2;

// For the error of the ends. For independent errors it would be 1.96; they repeat with a pattern.
constexpr double kEnds = 2.3;

// Covariance of neighboring bins, in standard errors, above which it is not chance.
constexpr double kClear = 1.3;

// 97.5% quantile of Student's t distribution with `freedom` degrees of freedom.
double student(std::size_t freedom) {
  constexpr double kTable[] = {0,     12.71, 4.303, 3.182, 2.776, 2.571, 2.447,
                               2.365, 2.306, 2.262, 2.228, 2.201, 2.179};
  constexpr std::size_t kLast = std::size(kTable) - 1;
  return freedom <= kLast ? kTable[freedom] : 1.96 + 2.6 / static_cast<double>(freedom);
}

}  // namespace

void RateMeter::begin(Duration now) {
  since_ = now;
  last_word_.reset();
  open_.reset();
  bins_.clear();
}

void RateMeter::take(const Observation& observation) {
  if (!std::isfinite(observation.step)) return;
  if (open_ && (observation.at < open_->at || observation.step < open_->step)) {
    begin(std::min(since_, observation.at));
  }
  last_word_ = observation.at;
  if (observation.at < since_ + options_.settle) return;
  if (!open_) {
    open_ = observation;
    return;
  }
  const Duration passed = observation.at - open_->at;
  if (passed < options_.bin || observation.step == open_->step) return;
  bins_.push_back({passed.in_seconds(), observation.step - open_->step});
  open_ = observation;
}

// Least squares through the ends of the bins from `first` on. Compared with the ends of the whole
// window alone, it halves the variance from the resolution.
double RateMeter::slope(std::size_t first) const {
  double at = 0;
  double step = 0;
  double sum_at = 0;
  double sum_step = 0;
  double sum_squares = 0;
  double sum_products = 0;
  for (std::size_t i = first; i < bins_.size(); ++i) {
    at += bins_[i].seconds;
    step += bins_[i].steps;
    sum_at += at;
    sum_step += step;
    sum_squares += at * at;
    sum_products += at * step;
  }
  const auto points = static_cast<double>(bins_.size() - first + 1);  // With (0, 0).
  return (sum_products - sum_at * sum_step / points) / (sum_squares - sum_at * sum_at / points);
}

// Half width of about a 95% interval, relative to the mean. Bins end up to one period early or
// late. What one bin gains, the next one loses, so this part of the variance does not add up. If
// neighboring bins clearly have such a covariance, it is subtracted. The ends of the line count
// with one period.
double RateMeter::error(double mean, double spread, double seconds, std::size_t first) const {
  const auto n = static_cast<double>(bins_.size() - first);
  const double resolution = options_.resolution.in_seconds();
  double covariance = 0;
  for (std::size_t i = first + 1; i < bins_.size(); ++i) {
    covariance += (bins_[i - 1].steps / bins_[i - 1].seconds - mean) *
                  (bins_[i].steps / bins_[i].seconds - mean) / n;
  }
  const double of_bin = mean * resolution * n / seconds;
  const bool clear = covariance < -kClear * spread / std::sqrt(n);
  const double of_ends_only = clear ? std::min(-2 * covariance, of_bin * of_bin / 6) : 0;
  const double own = std::max(0.0, spread - of_ends_only);
  const double deviation =
      student(bins_.size() - first - 1) * std::sqrt(kSlopeVariance * own / (n - 1)) / mean;
  const double of_ends = kEnds * resolution / seconds * std::sqrt(n / ((n + 1) * (n + 2)));
  return std::sqrt(deviation * deviation + of_ends * of_ends);
}

std::optional<Rate> RateMeter::rate() const {
  const std::size_t n = bins_.size();
  if (n < 2) return std::nullopt;
  double seconds = 0;
  double steps = 0;
  double weighted_squares = 0;  // Sum of steps^2 / seconds.
  double best_score = 0;
  std::optional<Rate> best;
  // From the end: each iteration adds one earlier bin.
  for (std::size_t first = n; first-- > 0;) {
    const Bin& bin = bins_[first];
    seconds += bin.seconds;
    steps += bin.steps;
    weighted_squares += bin.steps * bin.steps / bin.seconds;
    const auto kept = static_cast<double>(n - first);
    if (kept < 2 || first > n / 2) continue;
    const double mean = steps / seconds;
    const double spread = std::max(0.0, weighted_squares / seconds - mean * mean);
    const double score = spread / kept;
    if (best && score > best_score) continue;
    best_score = score;
    best = Rate{slope(first), error(mean, spread, seconds, first)};
  }
  return best;
}

bool RateMeter::known(Duration now) const {
  const std::optional<Rate> found = rate();
  if (!found) return false;
  if (now - since_ >= options_.most) return true;
  return bins_.size() >= kMinBins && now - since_ >= options_.least &&
         found->error <= options_.wanted;
}

}  // namespace muster
