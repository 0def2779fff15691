#pragma once

// Predicts when a waiting job starts: a band that contains 80% of the starts, from several
// lookahead simulations with sampled remaining work. ForecastErrors corrects the bands by the
// errors of earlier ones (conformal prediction, each end separately). The live forecasts run this
// on a worker thread; `muster calibrate` also uses it.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>

#include "base/types/time.h"
#include "engine/core/engine.h"
#include "sim/forecast/runtime_sampler.h"

namespace muster {

struct Band {
  Instant soonest;  // 10% of the starts are earlier.
  Instant likely;   // 50% are earlier.
  Instant latest;   // 90% are earlier. never(): after the horizon.
};

// A band without correction.
struct RawBand {
  Band band;
  int drives = 0;  // Lookahead simulations that were run.
};

struct EtaOptions {
  int most_drives = 16;  // Maximum number of simulations.
  std::uint64_t seed = 1;
  Duration horizon = Duration::seconds(60 * 86'400);
  LookaheadCosts costs;
  // Called after each simulation; true ends the forecast. At least two simulations are run.
  std::function<bool()> enough;
};

// Returns the band of one job, which is waiting or in back-off.
RawBand raw_eta(const Engine& engine, Instant now, JobId job, const RuntimeSampler& guesses,
                const EtaOptions& options);

// Returns the bands of many jobs, which are waiting or in back-off, from shared simulations. Jobs
// whose start was still open when a simulation was cut short are omitted.
struct EtasOptions {
  int most_drives = 8;
  std::uint64_t seed = 1;
  Duration horizon = Duration::seconds(60 * 86'400);
  LookaheadCosts costs;
  // Called occasionally during a simulation; true cuts it short.
  std::function<bool(int drive)> tired;
  // Called after each simulation; true ends the forecast.
  std::function<bool(int drives)> enough;
};
std::map<JobId, Band> raw_etas(const Engine& engine, Instant now, std::span<const JobId> jobs,
                               const RuntimeSampler& guesses, const EtasOptions& options);

// Corrects bands by the errors of earlier bands. The caller keeps one and records each start.
class ForecastErrors {
 public:
  Band corrected(Instant asked, const Band& raw) const;
  // Records the start of a job. `told` is the corrected band that was reported for `raw`.
  void learn(Instant asked, const Band& raw, const Band& told, Instant started);
  std::size_t known() const { return low_.past.size(); }

 private:
  // Errors of one end, or of the middle, in logarithms of the wait. Positive: the start was beyond
  // the end of the raw band.
  struct End {
    std::deque<double> past;
    // The next end is placed at the quantile 1 - part of `past`. `part` shrinks after each miss and
    // grows otherwise, so that the long-run share of misses stays at the target.
    double part = 0.1;
  };
  static double correction(const End& end);
  static void learn(End& end, double error, bool missed);

  End low_;
  End high_;
  End middle_{.past = {}, .part = 0.5};
};

}  // namespace muster
