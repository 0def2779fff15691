#pragma once

// Predicts future arrivals from the latest ones: each block of the future repeats a block of the
// past, at the same time of day once the history is longer than a day. So the simulated arrivals
// have the rate of that hour, and the users, sizes and bursts of the history.

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "base/types/random.h"
#include "base/types/time.h"
#include "engine/model/job_spec.h"

namespace muster {

class ArrivalModel {
 public:
  static constexpr std::size_t kRemembered = 4'000;  // The latest arrivals that are kept.

  struct Arrival {
    Instant at;
    JobSpec spec;
  };

  // Records a submitted job. Calls must be in order of time.
  void record(Instant at, const JobSpec& spec);
  // Returns random arrivals until `until`, in order of time. They end at a
  // random time, with a chance of 50% before the observed time span has passed again. A history of
  // less than 3 hours counts as 3 hours, so that a burst does not count as typical.
  std::vector<Arrival> draw(Instant now, Instant until, Random& random) const;

 private:
  Instant source_of(Instant block, Instant now, Instant first, Random& random) const;
  std::vector<Arrival> at_mean_rate(Instant now, Instant until, Random& random) const;

  std::deque<Arrival> latest_;
  std::optional<Instant> began_;  // The first arrival.
};

}  // namespace muster
