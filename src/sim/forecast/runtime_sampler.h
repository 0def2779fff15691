#pragma once

// Samples how much work a job has left, from the run times of similar jobs. A forecast draws one
// sample per job and per lookahead simulation.

#include <cstddef>
#include <deque>
#include <vector>

#include "base/types/random.h"
#include "base/types/time.h"
#include "engine/core/engine.h"
#include "engine/core/past_run_times.h"
#include "engine/model/job_spec.h"
#include "sim/forecast/lookahead.h"

namespace muster {

class RuntimeSampler {
 public:
  static constexpr std::size_t kArrivals = 1'000;  // The latest arrivals that are kept.

  // Records a submitted job. Calls must be in order of time.
  void record_arrival(Instant at, const JobSpec& spec);
  // Records that a job ended after this much work (time at the reference share).
  void learn(const JobSpec& spec, Duration work);

  // Returns a random sample of the work left for a job that has done `done`. It is drawn from the
  // latest jobs that took longer than `done`. Sources, in this order: the same user, name and size;
  // the same user and size; the user's estimate; the same size; all jobs. Without data, the sample
  // is exponential with mean `done` (at least 1 minute).
  Duration left(const JobSpec& spec, Duration done, Random& random) const;
  // Returns the median of such samples. Deterministic.
  Duration likely(const JobSpec& spec, Duration done) const;
  // These return the values for all active jobs of the engine, indexed by JobId.
  std::vector<Duration> left_of_all(const Engine& engine, Instant now, Random& random) const;
  std::vector<Duration> likely_of_all(const Engine& engine, Instant now) const;

  // Returns random arrivals until `until`: copies of the latest jobs at their mean rate. The rate
  // is taken over at least 3 hours, so that a burst does not count as typical. The arrivals end
  // after 5 times the observed time span.
  std::vector<FutureArrival> arrivals(Instant now, Instant until, Random& random) const;

 private:
  static constexpr std::size_t kRemembered = 64;  // Run times kept per group.

  struct Arrival {
    Instant at;
    JobSpec spec;
  };

  // The source of a sample: run times of a group that exceed `done`, or the user's estimate.
  // Without data, both are empty.
  struct Basis {
    std::vector<Duration> longer;
    bool word = false;
  };

  Basis basis_of(const JobSpec& spec, Duration done, bool heed_word) const;

  PastRunTimes past_{kRemembered};
  std::deque<Arrival> arrivals_;  // The latest kArrivals.
};

}  // namespace muster
