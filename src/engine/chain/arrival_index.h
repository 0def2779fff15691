#pragma once

// Waiting jobs in order of age, answering "who is the oldest that should take no longer than this?"
// in log n. For backfilling long queues. Naive twin in the test: a linear scan.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/types/id.h"
#include "base/types/time.h"

namespace muster {

class ArrivalIndex {
 public:
  // Quick when jobs come in order of id; a job that re-enters behind younger ones costs a rebuild.
  void insert(JobId job, Duration estimate);
  void remove(JobId job);
  std::size_t size() const { return size_; }

  // The oldest job younger than `after` (any, if empty) whose estimate is at most `longest`.
  std::optional<JobId> oldest(Duration longest, std::optional<JobId> after) const;

 private:
  std::optional<std::size_t> position(JobId job) const;
  void set(std::size_t position, Duration estimate);
  void rebuild(std::size_t width);

  std::size_t width_ = 0;  // Leaves: a power of two, or none yet.
  std::size_t size_ = 0;
  std::vector<JobId> jobs_;         // Ascending; removed ones stay until the next rebuild.
  std::vector<Duration> shortest_;  // 1 is the root; Duration::max() where nobody is.
};

}  // namespace muster
