#pragma once

// What forecasts leave behind: predicted starts until the jobs start, how far predictions were off,
// and the latest bands of all waiting jobs.
//
// Threads: any. Workers keep forecasts and bands, the manager thread evaluates and shows them.

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "base/types/time.h"
#include "engine/roster/live_job.h"
#include "engine/roster/roster.h"
#include "live/query/explain.h"
#include "sim/forecast/eta.h"

namespace muster {

struct PendingForecast {
  JobId row;  // Of the job then. In another row it was held or lost its place since.
  Instant asked;
  Forecast forecast;
};

// When waiting jobs start, predicted at one instant. Never changed once made.
struct StartBands {
  Instant made;
  std::map<LiveId, std::pair<JobId, Band>> of;

  // The band of a job that still waits in the row it had then; nullptr otherwise.
  const Band* find(const LiveJob& job) const {
    const auto found = of.find(job.id);
    const bool holds = found != of.end() && !job.lease && job.row == found->second.first;
    return holds ? &found->second.second : nullptr;
  }
};

class ForecastBook {
 public:
  static constexpr std::size_t kMaxPending = 1'000;

  // The first forecast of a job counts.
  void keep(LiveId id, const PendingForecast& pending);
  bool has(LiveId id) const;
  // Compares the forecasts of jobs that have started with their starts. Drops those of jobs that
  // were held, changed or finished since: the forecast did not cause that.
  void evaluate(const Roster& roster);
  Errors errors() const;

  void keep_bands(std::shared_ptr<const StartBands> bands);
  // The latest bands, or nullptr if they were made more than `age` before `now`.
  std::shared_ptr<const StartBands> bands(Instant now, Duration age);

 private:
  mutable std::mutex mutex_;
  std::map<LiveId, PendingForecast> pending_;  // This and the rest: guarded by mutex_.
  Errors errors_;
  std::shared_ptr<const StartBands> bands_;
};

}  // namespace muster
