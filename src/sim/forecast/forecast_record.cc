#include "sim/forecast/forecast_record.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/types/random.h"

namespace muster {

namespace {

constexpr std::size_t kMedian = 3;    // Index of the median in the levels.
constexpr std::size_t kWindow = 800;  // Forecasts from which corrections are taken.
constexpr std::size_t kKept = 4'000;
constexpr std::size_t kEnough = 20;
constexpr std::size_t kEnoughOfHorizon = 60;
// With too few outcomes, a bound is moved outward by this much per 40% of its level.
constexpr double kAtFirst = 0.5;
// Change of the level per forecast that was off, in logits, so that it stays between 0 and 1.
constexpr double kGain = 0.13;
constexpr double kMaxShift = 6;
// Few simulations measure the median well, but not the spread: this share of it is used. Not for
// short waits, which often end exactly at a tick of the scheduler.
constexpr double kSpread = 0.5;
constexpr double kSpreadFrom = 300;      // Seconds to the median.
constexpr double kShortHorizon = 1'800;  // Seconds; divides the horizons.
// Puts waits of seconds and of days on one scale: differences below a minute hardly count.
constexpr double kSmall = 60;
constexpr double kMaxSeconds = 60.0 * 86'400;

double to_log(Instant asked, Instant at) {
  const double seconds = at == Instant::never() ? kMaxSeconds : (at - asked).in_seconds();
  return portable_log(std::clamp(seconds, 0.0, kMaxSeconds) + kSmall);
}

bool is_never(double value) { return value > portable_log(kMaxSeconds) - 0.001; }

Instant from_log(Instant asked, double value) {
  if (is_never(value)) return Instant::never();
  const double seconds = std::max(portable_exp(std::max(value, 0.0)) - kSmall, 0.0);
  return asked + Duration::micros(std::llround(seconds * 1e6));
}

std::size_t horizon_of(double likely) {
  return portable_exp(likely) - kSmall < kShortHorizon ? 0 : 1;
}

Instant quantile(const StartSamples& sorted, double part) {
  const double at = std::ceil(part * static_cast<double>(sorted.size()) - 1e-9) - 1;
  return sorted[std::min(static_cast<std::size_t>(std::max(at, 0.0)), sorted.size() - 1)];
}

}  // namespace

Band band_of(const ForecastBounds& bounds) { return {bounds[1], bounds[3], bounds[5]}; }

ForecastBounds uncorrected_bounds(const StartSamples& raw) {
  ForecastBounds bounds;
  for (std::size_t i = 0; i < bounds.size(); ++i) bounds[i] = quantile(raw, kForecastLevels[i]);
  return bounds;
}

ForecastRecord::Values ForecastRecord::raw_bounds(Instant asked, const StartSamples& raw) {
  Values values;
  for (std::size_t i = 0; i < kLevels; ++i) {
    values[i] = to_log(asked, quantile(raw, kForecastLevels[i]));
  }
  const double median = values[kMedian];
  if (portable_exp(median) - kSmall < kSpreadFrom || is_never(median)) return values;
  for (double& each : values) {
    if (!is_never(each)) each = median + kSpread * (each - median);
  }
  return values;
}

// The correction of a level is a quantile of the errors of its earlier raw bounds. The level of the
// quantile moves against the accumulated excess.
ForecastRecord::Values ForecastRecord::correction(std::size_t horizon) {
  if (std::exchange(fresh_[horizon], true)) return correction_[horizon];
  std::vector<const Entry*> all, same;
  for (const Entry& entry : entries_) {
    if (entry.known) all.push_back(&entry);
  }
  if (all.size() > kWindow) all.erase(all.begin(), all.end() - kWindow);
  std::copy_if(all.begin(), all.end(), std::back_inserter(same),
               [&](const Entry* entry) { return entry->horizon == horizon; });
  const std::vector<const Entry*>& from = same.size() >= kEnoughOfHorizon ? same : all;
  std::vector<double> errors(from.size() * kBeliefs);
  for (std::size_t i = 0; i < kLevels; ++i) {
    const double level = kForecastLevels[i];
    double& result = correction_[horizon][i];
    result = (level - 0.5) / 0.4 * kAtFirst;
    if (from.size() < kEnough) continue;
    std::size_t next = 0;
    for (const Entry* entry : from) {
      for (const double start : entry->starts) errors[next++] = start - entry->raw[i];
    }
    const double shift = std::clamp(kGain * excess_[i], -kMaxShift, kMaxShift);
    const double part = 1 / (1 + (1 - level) / level * portable_exp(shift));
    const auto at = static_cast<std::ptrdiff_t>(part * static_cast<double>(errors.size() - 1));
    std::nth_element(errors.begin(), errors.begin() + at, errors.end());
    result = errors[static_cast<std::size_t>(at)];
  }
  return correction_[horizon];
}

ForecastBounds ForecastRecord::corrected(Instant asked, const StartSamples& raw) {
  Values values = raw_bounds(asked, raw);
  const std::size_t horizon = horizon_of(values[kMedian]);
  const Values move = correction(horizon);
  for (std::size_t i = 0; i < kLevels; ++i) values[i] += move[i];
  // The bounds of the 80% band come first; the others are moved if they cross them. If these two
  // cross, because too many starts were at exactly one time, the one that was off more wins.
  if (values[5] < values[1]) {
    const bool low = std::abs(excess_[1]) > std::abs(excess_[5]);
    (low ? values[5] : values[1]) = low ? values[1] : values[5];
  }
  values[0] = std::min(values[0], values[1]);
  values[6] = std::max(values[6], values[5]);
  for (std::size_t i = 2; i < 5; ++i) {
    values[i] = std::clamp(values[i], values[i - 1], values[5]);
  }
  ForecastBounds bounds;
  for (std::size_t i = 0; i < kLevels; ++i) bounds[i] = from_log(asked, values[i]);
  return bounds;
}

ForecastBounds ForecastRecord::add(std::uint64_t job, Instant asked, const StartSamples& raw) {
  const ForecastBounds bounds = corrected(asked, raw);
  Entry entry;
  entry.asked = asked;
  entry.raw = raw_bounds(asked, raw);
  entry.horizon = horizon_of(entry.raw[kMedian]);
  for (std::size_t i = 0; i < kLevels; ++i) entry.told[i] = to_log(asked, bounds[i]);
  entry.below = kForecastLevels;
  pending_[job] = first_ + entries_.size();
  entries_.push_back(entry);
  if (entries_.size() > kKept) {
    entries_.pop_front();
    ++first_;
  }
  return bounds;
}

// Takes over the new belief or outcome in `starts`.
void ForecastRecord::settle(Entry& entry) {
  entry.known = true;
  for (std::size_t i = 0; i < kLevels; ++i) {
    // A band contains its ends. Many starts are exactly at an end, for example at a round.
    const auto below = std::count_if(entry.starts.begin(), entry.starts.end(), [&](double start) {
      return kForecastLevels[i] < 0.5 ? start < entry.told[i] : start <= entry.told[i];
    });
    const double part = static_cast<double>(below) / kBeliefs;
    excess_[i] += part - entry.below[i];
    entry.below[i] = part;
  }
  fresh_ = {};
}

void ForecastRecord::refresh(std::uint64_t job, Instant now, const StartSamples& raw) {
  const auto found = pending_.find(job);
  if (found == pending_.end() || found->second < first_) return;
  Entry& entry = entries_[found->second - first_];
  for (std::size_t i = 0; i < kBeliefs; ++i) {
    const double part = (static_cast<double>(i) + 0.5) / kBeliefs;
    entry.starts[i] = to_log(entry.asked, std::max(now, quantile(raw, part)));
  }
  settle(entry);
}

bool ForecastRecord::resolve(std::uint64_t job, Instant started) {
  const auto found = pending_.find(job);
  if (found == pending_.end()) return false;
  if (found->second >= first_) {
    Entry& entry = entries_[found->second - first_];
    entry.starts.fill(to_log(entry.asked, started));
    settle(entry);
  }
  ++known_;
  pending_.erase(found);
  return true;
}

void ForecastRecord::drop(std::uint64_t job) {
  const auto found = pending_.find(job);
  if (found == pending_.end()) return;
  if (found->second >= first_) {
    Entry& entry = entries_[found->second - first_];
    for (std::size_t i = 0; i < kLevels; ++i) {
      excess_[i] -= entry.below[i] - kForecastLevels[i];
    }
    entry.below = kForecastLevels;
    entry.known = false;
    fresh_ = {};
  }
  pending_.erase(found);
}

std::vector<std::uint64_t> ForecastRecord::pending() const {
  std::vector<std::uint64_t> jobs;
  jobs.reserve(pending_.size());
  for (const auto& [job, number] : pending_) jobs.push_back(job);
  return jobs;
}

}  // namespace muster
