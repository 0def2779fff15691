#pragma once

// How much work a job may have left, as a sample and not as one number: what jobs like it took. A
// forecast draws from here once for each job of each drive.

#include <cstddef>
#include <deque>
#include <vector>

#include "base/types/random.h"
#include "base/types/time.h"
#include "engine/core/engine.h"
#include "engine/core/past_run_times.h"
#include "engine/model/job_spec.h"
#include "sim/forecast/drive.h"

namespace muster {

class Guesses {
 public:
  static constexpr std::size_t kArrivals = 1'000;  // Remembered, the latest.

  // A job was submitted; in order of time.
  void came(Instant at, const JobSpec& spec);
  // A job ended after so much work (time at the reference share).
  void learn(const JobSpec& spec, Duration work);

  // One guess at what is left for a job that has done so much: of the latest jobs of the same user,
  // name and size that took longer than that; failing those of the same user and size; then what
  // its user said; then of the same size; then of all. Where nothing is known, as long again.
  Duration left(const JobSpec& spec, Duration done, Random& random) const;
  // The middle of such guesses, the same whenever asked.
  Duration likely(const JobSpec& spec, Duration done) const;
  // For every job of the engine that is not over, by JobId.
  std::vector<Duration> left_of_all(const Engine& engine, Instant now, Random& random) const;
  std::vector<Duration> likely_of_all(const Engine& engine, Instant now) const;

  // Who may come until `until`: jobs like the latest, as often as they came. A burst is not taken
  // for a habit: it counts as if it had taken hours, and nothing is said of a time much longer than
  // what was seen.
  std::vector<Newcomer> newcomers(Instant now, Instant until, Random& random) const;

 private:
  static constexpr std::size_t kRemembered = 64;  // Run times a group.

  struct Arrival {
    Instant at;
    JobSpec spec;
  };

  // What to go by, beginning at a level: those of a group that took longer than `done`, the user's
  // word, or, where nothing is known, neither.
  struct Basis {
    std::vector<Duration> longer;
    bool word = false;
  };

  Basis basis_of(const JobSpec& spec, Duration done, bool heed_word) const;

  PastRunTimes past_{kRemembered};
  std::deque<Arrival> arrivals_;  // The latest.
};

}  // namespace muster
