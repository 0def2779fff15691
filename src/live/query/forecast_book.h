#pragma once

// Stores forecasts: predicted starts until the jobs start, the errors of past predictions, and the
// latest bands of all waiting jobs.
//
// Threads: any. Workers store forecasts and bands, the manager thread evaluates and shows them.

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "base/types/time.h"
#include "engine/roster/live_job.h"
#include "engine/roster/roster.h"
#include "live/query/explanation.h"
#include "sim/forecast/start_forecast.h"

namespace muster {

struct PendingForecast {
  JobId row;  // Row of the job then. A job in another row was held or lost its place since.
  Instant asked;
  Forecast forecast;
};

// Predicted starts of waiting jobs, all made at one instant. Immutable.
struct StartBands {
  Instant made;
  std::map<LiveId, std::pair<JobId, Band>> of;

  // Returns the band of a job that still waits in the same row, or nullptr.
  const Band* find(const LiveJob& job) const {
    const auto found = of.find(job.id);
    const bool holds = found != of.end() && !job.lease && job.row == found->second.first;
    return holds ? &found->second.second : nullptr;
  }
};

class ForecastBook {
 public:
  static constexpr std::size_t kMaxPending = 1'000;

  // Stores a forecast unless the job already has one.
  void keep(LiveId id, const PendingForecast& pending);
  bool has(LiveId id) const;
  // Compares the forecasts of started jobs with their actual starts. Drops those of jobs that were
  // held, changed or finished since, because that is not an error of the forecast.
  void evaluate(const Roster& roster);
  ForecastErrors errors() const;

  void keep_bands(std::shared_ptr<const StartBands> bands);
  // Returns the latest bands, or nullptr if they were made more than `age` before `now`.
  std::shared_ptr<const StartBands> bands(Instant now, Duration age);

 private:
  mutable std::mutex mutex_;
  std::map<LiveId, PendingForecast> pending_;  // This and the following members: guarded by mutex_.
  ForecastErrors errors_;
  std::shared_ptr<const StartBands> bands_;
};

}  // namespace muster
