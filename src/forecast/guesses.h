#pragma once

// How much work a job may have left, as a sample and not as one number: what jobs like it took. A
// forecast draws from here once for each job of each drive.

#include <cstddef>
#include <deque>
#include <map>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "core/engine.h"
#include "forecast/drive.h"
#include "model/job_spec.h"

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
  struct Record {
    std::vector<Duration> latest;
    std::size_t next = 0;
  };
  struct Arrival {
    Instant at;
    JobSpec spec;
  };
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // User, name, size; -1 = any.

  // What to go by, beginning at a level: those of a group that took longer than `done`, the user's
  // word, or, where nothing is known, neither.
  struct Basis {
    std::vector<Duration> longer;
    bool word = false;
  };

  static Key key_at(const JobSpec& spec, int level);
  Basis basis_of(const JobSpec& spec, Duration done, bool heed_word) const;

  std::map<Key, Record> records_;
  std::deque<Arrival> arrivals_;  // The latest.
};

}  // namespace muster
