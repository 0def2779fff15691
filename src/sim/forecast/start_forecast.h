#pragma once

// Predicts when waiting jobs start, from several lookahead simulations with sampled futures.
// ForecastRecord corrects the result. The live forecasts run this on a worker thread; `muster
// calibrate` also uses it.

#include <cstdint>
#include <functional>
#include <map>
#include <span>

#include "base/types/time.h"
#include "engine/core/engine.h"
#include "sim/forecast/forecast_record.h"
#include "sim/forecast/runtime_sampler.h"

namespace muster {

struct ForecastOptions {
  int most_drives = 9;  // Maximum number of simulations. With 9, the extremes are an 80% band.
  std::uint64_t seed = 1;
  Duration horizon = Duration::seconds(60 * 86'400);
  LookaheadCosts costs;
  // Nodes that are expected to become schedulable.
  std::vector<FutureNode> nodes;
  // Called occasionally during a simulation; true cuts it short.
  std::function<bool(int drive)> tired;
  // Called after each simulation; true ends the forecast.
  std::function<bool(int drives)> enough;
};

// Returns the sampled starts of jobs that are waiting or in back-off, one per simulation. Jobs
// whose start was still open when a simulation was cut short are omitted.
std::map<JobId, StartSamples> sample_starts(const Engine& engine, Instant now,
                                            std::span<const JobId> jobs, const FutureModel& model,
                                            const ForecastOptions& options);

// Returns when the jobs would start if each active job ran for `limit` in total and no job arrived,
// as common batch schedulers predict. never(): not within the horizon.
std::map<JobId, Instant> starts_by_limits(const Engine& engine, Instant now,
                                          std::span<const JobId> jobs, Duration limit);

}  // namespace muster
