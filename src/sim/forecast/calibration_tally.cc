#include <algorithm>

#include "sim/forecast/calibration.h"

namespace muster {

namespace {

constexpr Duration kShortWait = Duration::seconds(60);

Duration median(std::vector<Duration>& values) {
  if (values.empty()) return {};
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

void CalibrationTally::add(const CalibrationSample& sample) {
  const Instant start = sample.started;
  const Instant horizon = sample.asked + ForecastOptions().horizon;
  const bool waited = start - sample.asked > kShortWait;
  const auto width = [&](Instant low, Instant high) { return std::min(high, horizon) - low; };
  const ForecastBounds& told = sample.told;
  for (std::size_t i = 0; i < report_.levels.size(); ++i) {
    const Instant low = std::min(told[2 - i], horizon);
    const Instant high = told[4 + i];
    if (low <= start && start <= high) ++report_.levels[i].inside;
    if (waited) widths_[i].push_back(width(low, high));
  }
  ++report_.asked;
  if (start < told[1]) ++report_.before;
  if (start > told[5]) ++report_.after;
  const Instant raw_low = std::min(sample.raw.front(), horizon);
  const Instant raw_high = sample.raw.back();
  if (raw_low <= start && start <= raw_high) ++report_.raw_inside;
  if (waited) raw_widths_.push_back(width(raw_low, raw_high));
  waits_.push_back(start - sample.asked);
  all_widths_.push_back(width(std::min(told[1], horizon), told[5]));
  const Instant likely = std::min(told[3], horizon);
  misses_.push_back(std::max(likely - start, start - likely));
}

void CalibrationTally::add_by_limit(Instant predicted, const CalibrationSample& sample) {
  const Instant start = sample.started;
  predicted = std::min(predicted, sample.asked + ForecastOptions().horizon);
  limit_misses_.push_back(std::max(predicted - start, start - predicted));
  if (start < predicted) ++report_.limit_before;
}

void CalibrationTally::finish(CalibrationReport& report) {
  report_.jobs = report.jobs;
  report_.at_once = report.at_once;
  report = report_;
  report.inside = report.levels[1].inside;
  for (std::size_t i = 0; i < report.levels.size(); ++i) {
    report.levels[i].width = median(widths_[i]);
  }
  report.wait = median(waits_);
  report.width = median(all_widths_);
  report.raw_width = median(raw_widths_);
  report.miss = median(misses_);
  report.limit_miss = median(limit_misses_);
}

}  // namespace muster
