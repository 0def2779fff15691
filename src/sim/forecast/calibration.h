#pragma once

// Measures how accurate the bands of start_forecast.h are. calibrate() replays a history: it makes
// a forecast when a job arrives, and checks it when the job starts. The forecast sees only the
// events before the arrival. `muster calibrate` calls it.

#include <cstddef>
#include <functional>
#include <vector>

#include "sim/forecast/start_forecast.h"

namespace muster {

struct CalibrationOptions {
  // Forecasts are made for every N-th job that must wait.
  std::size_t every = 1;
  EtaOptions eta;
  // Called after every 256 arrivals or so. Returning false ends the replay.
  std::function<bool(std::size_t done, std::size_t total)> progress;
};

struct CalibrationReport {
  std::size_t jobs = 0;        // Jobs that arrived.
  std::size_t at_once = 0;     // Jobs that started on arrival: they need no forecast.
  std::size_t asked = 0;       // Jobs with a forecast that have started.
  std::size_t inside = 0;      // Jobs of `asked` that started within their band,
  std::size_t before = 0;      // before it,
  std::size_t after = 0;       // or after it.
  std::size_t raw_inside = 0;  // Jobs that started within the uncorrected band.
  Duration wait;               // Median wait.
  Duration width;              // Median width of the bands.
  Duration miss;               // Median distance between `likely` and the start.

  double share() const { return static_cast<double>(inside) / static_cast<double>(asked); }
};

// `history` is in order of time and contains the actual work of each job. `engine` has no jobs yet.
// The result covers the arrivals up to the point where `progress` ended the replay.
CalibrationReport calibrate(const Engine& engine, std::vector<FutureArrival> history,
                            const CalibrationOptions& options);

}  // namespace muster
