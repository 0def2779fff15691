#pragma once

// Computes the size of a data set for profiling. Reads only names and sizes of files, within limits
// on time and number of entries.

#include <cstdint>
#include <functional>
#include <string>

#include "base/types/result.h"
#include "base/types/time.h"

namespace muster {

struct DatasetSize {
  std::int64_t bytes = 0;
  std::int64_t files = 0;
  std::int64_t links = 0;       // Symbolic links. They are not followed.
  std::int64_t unreadable = 0;  // Directories that cannot be listed, files without a size.
  bool complete = true;         // False if a limit was reached.
};

struct DatasetLimits {
  std::int64_t entries = 10'000'000;
  Duration time = Duration::seconds(20);
};

// Called for each non-empty file, with its path and the totals so far, including this file. Returns
// false to stop.
using DatasetVisit =
    std::function<bool(const std::string& path, std::int64_t bytes, const DatasetSize& so_far)>;

// Visits a file, or all files below a directory in file system order. Follows a link only if `path`
// itself is one. Fails if the path does not exist or is neither a file nor a directory:
// "dataset: no such file or directory: '/data'; ...".
Result<DatasetSize> walk_dataset(const std::string& path, const DatasetLimits& limits,
                                 const DatasetVisit& visit);

// Returns only the totals. Calls `progress`, if not empty, ten times per second.
Result<DatasetSize> dataset_size(const std::string& path,
                                 const std::function<void(const DatasetSize&)>& progress = {},
                                 const DatasetLimits& limits = {});

}  // namespace muster
