#pragma once

// Stores forecasts: the record that corrects them, the latest bands of all waiting jobs, and how
// often the bands were right.
//
// Threads: any. Workers store forecasts and bands, the manager thread evaluates and shows them.

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/types/time.h"
#include "engine/roster/live_job.h"
#include "engine/roster/roster.h"
#include "live/views/metrics_text.h"
#include "sim/forecast/forecast_record.h"

namespace muster {

class ForecastBook {
 public:
  using Bands = std::map<LiveId, std::pair<JobId, Band>>;  // The row of each job, and its band.

  static constexpr std::size_t kMaxPending = 4'000;

  // Returns the corrected bounds of a forecast that was made at `asked`, and records them if they
  // are the first of this job. `row` is the row of the job then.
  ForecastBounds correct(LiveId id, JobId row, Instant asked, const StartSamples& samples);
  // The same for a job that does not exist.
  ForecastBounds correct(Instant asked, const StartSamples& samples);
  // Compares the forecasts of started jobs with their actual starts. Drops those of jobs that were
  // held, changed or finished since, because that is not an error of the forecast. A change of the
  // policy empties the record.
  void evaluate(const Roster& roster);
  // Returns the jobs whose first forecasts are not evaluated yet, and their rows.
  std::map<LiveId, JobId> pending() const;
  ForecastScore score() const;

  // Stores the latest bands of waiting jobs, and removes old ones. Lists and job pages show a band
  // until it is `kHold` old.
  void publish(Instant made, const Bands& bands);
  std::optional<Band> find(LiveId id, JobId row, Instant now) const;

 private:
  static constexpr Duration kHold = Duration::seconds(75);

  struct Pending {
    JobId row;  // A job in another row was held or lost its place since.
    Instant asked;
    ForecastBounds told;
  };
  struct Published {
    JobId row;
    Instant made;
    Band band;
  };

  mutable std::mutex mutex_;
  ForecastRecord record_;  // This and the following members: guarded by mutex_.
  std::map<LiveId, Pending> pending_;
  std::map<LiveId, Published> bands_;
  std::string policy_;  // The policy that the record is about.
  ForecastScore score_;
};

}  // namespace muster
