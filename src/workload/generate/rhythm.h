#pragma once

// Random arrivals with a daily and weekly pattern: a Poisson process whose rate changes every hour.

#include <array>

#include "base/types/random.h"

namespace muster {

// Weights of the hours of a day and the days of a week, Monday first. Only ratios matter.
struct WeekRhythm {
  std::array<double, 24> hours;
  std::array<double, 7> days;
};

class RhythmicArrivals {
 public:
  // `per_hour` is the mean number of arrivals per hour over a week. Time 0 is midnight on a Monday.
  // REQUIRES: per_hour and all weights are above 0.
  RhythmicArrivals(const WeekRhythm& rhythm, double per_hour, Random random);

  // Returns the time of the next arrival, in seconds since time 0.
  double next();

 private:
  std::array<double, 168> per_second_ = {};
  Random random_;
  double now_ = 0;
};

}  // namespace muster
