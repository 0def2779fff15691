#include "engine/fit/rate_meter.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace muster {

namespace {

constexpr std::size_t kMinBins = 4;  // Minimum for known(), unless the time limit is reached.

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
    const double deviation = std::sqrt(spread / (kept - 1));
    best = Rate{mean, student(n - first - 1) * deviation / mean};
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
