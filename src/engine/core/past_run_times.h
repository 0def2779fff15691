#pragma once

// Run times of jobs that ended, in groups of similar jobs: the engine's estimates and the forecasts
// draw from it. Cost: a few map look-ups per job that ends.

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "base/types/time.h"
#include "engine/model/job_spec.h"

namespace muster {

class PastRunTimes {
 public:
  // The levels of similarity, from near to far: the same user, name and size; the same user and
  // size; the same size; all jobs.
  static constexpr int kLevels = 4;

  // Each group keeps its latest `kept` run times.
  explicit PastRunTimes(std::size_t kept) : kept_(kept) {}

  // A job ended after this much work (time at the reference share).
  void add(const JobSpec& spec, Duration work);

  // The latest run times of the jobs similar to this one, in no particular order; null if there are
  // none. Valid until the next add().
  const std::vector<Duration>* find(const JobSpec& spec, int level) const;

 private:
  struct Record {
    std::vector<Duration> latest;
    std::size_t next = 0;  // Overwritten next, once there are enough.
  };
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // User, name, size; -1 = any.
  static Key key_at(const JobSpec& spec, int level);

  std::size_t kept_;
  std::map<Key, Record> records_;
};

}  // namespace muster
