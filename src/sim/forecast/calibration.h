#pragma once

// Measures how accurate start forecasts are. calibrate() replays a history: it makes a forecast
// when a job arrives, and checks it when the job starts. The forecast sees only the events before
// the arrival. `muster calibrate` calls it.

#include <array>
#include <cstddef>
#include <functional>
#include <vector>

#include "sim/forecast/start_forecast.h"

namespace muster {

// A forecast and the actual start.
struct CalibrationSample {
  JobId job;
  Instant asked;
  Instant started;
  StartSamples raw;
  ForecastBounds told;
};

struct CalibrationOptions {
  // Forecasts are made for every N-th job that must wait.
  std::size_t every = 1;
  ForecastOptions start;
  // Changes samples of the future, for example to ones from the actual distributions. `actual` may
  // be nullptr: the samples stay unchanged.
  const FutureModel* actual = nullptr;
  std::function<void(Future& sample, Future&& actual)> change;
  // Time limit of each job for the comparison with starts_by_limits(); zero: none.
  Duration limit;
  // Called after every 256 arrivals or so. Returning false ends the replay.
  std::function<bool(std::size_t done, std::size_t total)> progress;
};

struct CalibrationReport {
  // The bands of 50, 80 and 95%.
  static constexpr std::array<double, 3> kShares = {0.5, 0.8, 0.95};
  struct Level {
    std::size_t inside = 0;  // Jobs of `asked` that started within this band.
    Duration width;          // Median width, of the jobs that waited more than a minute.
  };

  std::size_t jobs = 0;        // Jobs that arrived.
  std::size_t at_once = 0;     // Jobs that started on arrival: they need no forecast.
  std::size_t asked = 0;       // Jobs with a forecast that have started.
  std::size_t inside = 0;      // Jobs of `asked` that started within their band of 80%,
  std::size_t before = 0;      // before it,
  std::size_t after = 0;       // or after it.
  std::size_t raw_inside = 0;  // Jobs that started within the uncorrected band.
  std::array<Level, 3> levels;
  Duration wait;       // Median wait.
  Duration width;      // Median width of the bands.
  Duration raw_width;  // Median width of the uncorrected bands, of waits of more than a minute.
  Duration miss;       // Median distance between `likely` and the start.
  // Predictions of starts_by_limits().
  Duration limit_miss;           // Median distance between its time and the start.
  std::size_t limit_before = 0;  // Jobs that started before its time.

  double share() const { return static_cast<double>(inside) / static_cast<double>(asked); }
};

// Adds the checks of forecasts to a report.
class CalibrationTally {
 public:
  void add(const CalibrationSample& sample);
  void add_by_limit(Instant predicted, const CalibrationSample& sample);
  // Sets the medians and counts of the report.
  void finish(CalibrationReport& report);

 private:
  CalibrationReport report_;
  std::vector<Duration> waits_, all_widths_, raw_widths_, misses_, limit_misses_;
  std::array<std::vector<Duration>, 3> widths_;
};

// `history` is in order of time and contains the actual work of each job. `engine` has no jobs yet.
// The result covers the arrivals up to the point where `progress` ended the replay.
CalibrationReport calibrate(const Engine& engine, std::vector<FutureArrival> history,
                            const CalibrationOptions& options);

}  // namespace muster
