#pragma once

// Measures a job's training speed under one CPU limit, from its progress reports. The observer
// calls begin() when the limit takes effect and take() for each report, and polls known() or
// rate().

#include <cstddef>
#include <optional>
#include <vector>

#include "base/types/time.h"

namespace muster {

// Number of steps done at time `at` of the observer's clock.
struct Observation {
  Duration at;
  double step = 0;
};

struct Rate {
  double steps_per_second = 0;
  double error = 0;  // Half width of the 95% confidence interval, relative to the rate.
};

struct MeterOptions {
  // Minimum length of a bin. CPU limits apply per 100 ms and jobs prefetch data, so shorter bins
  // are meaningless.
  Duration bin = Duration::micros(300'000);
  Duration settle = Duration::micros(500'000);   // Ignored time after begin().
  Duration least = Duration::micros(2'500'000);  // Minimum time until known().
  Duration most = Duration::seconds(10);         // After this, any rate is known().
  double wanted = 0.0125;                        // Relative error below which a rate is known().
  // Period of CPU limits. A limited job does its work at the start of each period, so a report can
  // be early or late by this time.
  Duration resolution = Duration::micros(100'000);
};

class RateMeter {
 public:
  explicit RateMeter(MeterOptions options = {}) : options_(options) {}

  void begin(Duration now);
  // Adds a report. If time or steps go backwards, the job was restarted and the measurement begins
  // again.
  void take(const Observation& observation);

  // True if the rate is accurate enough after `least`, or if there is any rate after `most`.
  bool known(Duration now) const;
  // Returns the rate without the initial transient, or nullopt with fewer than two bins. The
  // transient ends at the cut that minimizes the error of the rest (White's MSER). The rate is the
  // slope of a line through the ends of the bins. Its error includes the resolution.
  std::optional<Rate> rate() const;
  // Time of the last report since begin(); nullopt: none.
  std::optional<Duration> last_word() const { return last_word_; }

 private:
  struct Bin {
    double seconds = 0;
    double steps = 0;
  };

  double slope(std::size_t first) const;
  double error(double mean, double spread, double seconds, std::size_t first) const;

  MeterOptions options_;
  Duration since_;
  std::optional<Duration> last_word_;  // Reset by begin().
  std::optional<Observation> open_;    // Start of the current bin.
  std::vector<Bin> bins_;
};

}  // namespace muster
