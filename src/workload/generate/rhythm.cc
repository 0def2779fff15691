#include "workload/generate/rhythm.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "base/types/check.h"

namespace muster {

RhythmicArrivals::RhythmicArrivals(const WeekRhythm& rhythm, double per_hour, Random random)
    : random_(random) {
  MUSTER_CHECK(per_hour > 0);
  const double hours = std::accumulate(rhythm.hours.begin(), rhythm.hours.end(), 0.0) / 24;
  const double days = std::accumulate(rhythm.days.begin(), rhythm.days.end(), 0.0) / 7;
  for (std::size_t i = 0; i < per_second_.size(); ++i) {
    const double weight = rhythm.hours[i % 24] * rhythm.days[i / 24];
    MUSTER_CHECK(weight > 0);
    per_second_[i] = per_hour / 3600 * weight / (hours * days);
  }
}

double RhythmicArrivals::next() {
  // The integral of the rate up to the next arrival. Each hour consumes its part of it.
  double expected = random_.exponential(1);
  while (true) {
    const auto hour = static_cast<std::int64_t>(std::floor(now_ / 3600));
    const double rate = per_second_[static_cast<std::size_t>(hour % 168)];
    const double end = static_cast<double>(hour + 1) * 3600;
    if (expected < rate * (end - now_)) {
      now_ += expected / rate;
      return now_;
    }
    expected -= rate * (end - now_);
    now_ = end;
  }
}

}  // namespace muster
