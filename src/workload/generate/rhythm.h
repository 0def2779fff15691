#pragma once

// Arrivals that follow the day and the week: a Poisson process whose rate changes every hour.

#include <array>

#include "base/types/random.h"

namespace muster {

// How busy each hour of the day and each day of the week is, Monday first; only ratios count.
struct WeekRhythm {
  std::array<double, 24> hours;
  std::array<double, 7> days;
};

class RhythmicArrivals {
 public:
  // `per_hour` on average over a week. Time zero is Monday, midnight. All weights are above zero.
  RhythmicArrivals(const WeekRhythm& rhythm, double per_hour, Random random);

  // Seconds since time zero of the next arrival.
  double next();

 private:
  std::array<double, 168> per_second_ = {};
  Random random_;
  double now_ = 0;
};

}  // namespace muster
