#pragma once

// Run times of completed jobs, in groups of similar jobs. The estimates of the engine and the
// forecasts use it. Each completed job costs a few map look-ups.

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
  // The levels of similarity, from 0 (most similar): the same user, name and size; the same user
  // and size; the same size; all jobs.
  static constexpr int kLevels = 4;

  // Each group keeps its latest `kept` run times.
  explicit PastRunTimes(std::size_t kept) : kept_(kept) {}

  // Records a completed job and its work (time at the reference share).
  void add(const JobSpec& spec, Duration work);

  // Returns the latest run times of the jobs similar to `spec`, in no particular order, or nullptr
  // if there are none. Valid until the next add().
  const std::vector<Duration>* find(const JobSpec& spec, int level) const;

 private:
  struct Record {
    std::vector<Duration> latest;
    std::size_t next = 0;  // Index to overwrite next, once `latest` is full.
  };
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // User, name, size; -1 = any.
  static Key key_at(const JobSpec& spec, int level);

  std::size_t kept_;
  std::map<Key, Record> records_;
};

}  // namespace muster
