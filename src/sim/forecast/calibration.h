#pragma once

// How good the bands of eta.h are: a history lived through again, job by job, each asked about when
// it came and judged when it started. Nothing of its future is known to the forecast.

#include <cstddef>
#include <functional>
#include <vector>

#include "sim/forecast/eta.h"

namespace muster {

struct CalibrationOptions {
  std::size_t every = 1;  // Of the jobs that must wait, one in so many is asked about.
  EtaOptions eta;
  // Called now and then with jobs come and jobs in all; false ends it there.
  std::function<bool(std::size_t done, std::size_t total)> progress;
};

struct CalibrationReport {
  std::size_t jobs = 0;     // That came.
  std::size_t at_once = 0;  // Of those, started as they came: nothing to ask about.
  std::size_t asked = 0;    // And started since.
  std::size_t inside = 0;   // Of the asked: within their band.
  std::size_t before = 0;
  std::size_t after = 0;
  std::size_t raw_inside = 0;  // Within what the drives alone said.
  Duration wait;               // Medians: of the real waits,
  Duration width;              // of the bands' widths,
  Duration miss;               // and of how far "likely" was off.

  double share() const { return static_cast<double>(inside) / static_cast<double>(asked); }
};

// `history` in order of time, with the work each job really had; `engine` has no jobs yet.
CalibrationReport calibrate(const Engine& engine, std::vector<Newcomer> history,
                            const CalibrationOptions& options);

}  // namespace muster
