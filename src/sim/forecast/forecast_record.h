#pragma once

// Remembers start forecasts and corrects the next ones, so that a level of p holds a share p of the
// starts: online conformal prediction (Vovk et al. 2005) with an adaptive level (adaptive conformal
// inference, Gibbs and Candes 2021), per level. The errors are also separate per horizon. Feedback
// is not delayed until the jobs start: the current belief about a job that still waits counts as
// its outcome.

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "base/types/time.h"

namespace muster {

struct Band {
  Instant soonest;  // 10% of the starts are earlier.
  Instant likely;   // 50% are earlier.
  Instant latest;   // 90% are earlier. never(): after the horizon.
};

// The bounds of the bands of 50, 80 and 95%, and the median. Ascending.
inline constexpr std::array<double, 7> kForecastLevels = {0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975};
using ForecastBounds = std::array<Instant, kForecastLevels.size()>;
Band band_of(const ForecastBounds& bounds);

// Sorted starts of a job in the simulations; never() if it did not start. Not empty.
using StartSamples = std::vector<Instant>;

ForecastBounds uncorrected_bounds(const StartSamples& raw);

class ForecastRecord {
 public:
  // Returns the corrected bounds of a forecast, and does not record it.
  ForecastBounds corrected(Instant asked, const StartSamples& raw);
  // Records the first forecast of a job, and returns its bounds.
  ForecastBounds add(std::uint64_t job, Instant asked, const StartSamples& raw);
  // Updates the belief about a job that still waits.
  void refresh(std::uint64_t job, Instant now, const StartSamples& raw);
  // Records its start. Returns false if it has no forecast.
  bool resolve(std::uint64_t job, Instant started);
  void drop(std::uint64_t job);  // The job was cancelled, or its request changed.

  bool has(std::uint64_t job) const { return pending_.contains(job); }
  std::vector<std::uint64_t> pending() const;
  std::size_t known() const { return known_; }  // Jobs that started after a forecast.

 private:
  static constexpr std::size_t kLevels = kForecastLevels.size();
  static constexpr std::size_t kBeliefs = 5;
  static constexpr std::size_t kHorizons = 2;
  using Values = std::array<double, kLevels>;

  struct Entry {
    Instant asked;
    std::size_t horizon = 0;  // The group in which it is corrected.
    bool known = false;       // It has an outcome or a belief.
    Values raw;               // Bounds as logarithms with a reduced spread, before the correction
    Values told;              // and after it.
    // Probability that the start is before `told`; from the median on, also at `told`.
    Values below;
    std::array<double, kBeliefs> starts;  // Equally likely starts, as logarithms.
  };

  static Values raw_bounds(Instant asked, const StartSamples& raw);
  Values correction(std::size_t horizon);
  void settle(Entry& entry);

  std::deque<Entry> entries_;                       // The latest forecasts.
  std::uint64_t first_ = 0;                         // Number of the first entry.
  std::map<std::uint64_t, std::uint64_t> pending_;  // Entry numbers, by job.
  // Sum of (below - level) over all forecasts: how far each level has been off so far.
  Values excess_ = {};
  std::array<Values, kHorizons> correction_ = {};
  std::array<bool, kHorizons> fresh_ = {};
  std::size_t known_ = 0;
};

}  // namespace muster
