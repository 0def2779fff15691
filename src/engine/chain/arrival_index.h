#pragma once

// Waiting jobs in order of age, for backfilling long queues. Finds the oldest job with an estimate
// of at most a given length in O(log n). The test compares it with a linear scan.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/types/id.h"
#include "base/types/time.h"

namespace muster {

class ArrivalIndex {
 public:
  // O(log n) if jobs arrive in order of id. A job that re-enters behind younger jobs costs O(n).
  void insert(JobId job, Duration estimate);
  void remove(JobId job);
  std::size_t size() const { return size_; }

  // Returns the oldest job with an estimate of at most `longest` that is younger than `after`. An
  // empty `after` means any age. Returns nullopt if there is none.
  std::optional<JobId> oldest(Duration longest, std::optional<JobId> after) const;

 private:
  std::optional<std::size_t> position(JobId job) const;
  void set(std::size_t position, Duration estimate);
  void rebuild(std::size_t width);

  std::size_t width_ = 0;  // Number of leaves: a power of two, or 0 at first.
  std::size_t size_ = 0;
  std::vector<JobId> jobs_;  // Ascending. Removed jobs stay until the next rebuild.
  // Minimum estimate of each subtree; 1 is the root. Duration::max(): no job.
  std::vector<Duration> shortest_;
};

}  // namespace muster
