#pragma once

// The files a job trains on, as profiling wants to know them: how many bytes they are. Looks at
// names and sizes only, for a bounded time.

#include <cstdint>
#include <functional>
#include <string>

#include "base/types/result.h"
#include "base/types/time.h"

namespace muster {

struct DatasetSize {
  std::int64_t bytes = 0;
  std::int64_t files = 0;
  std::int64_t links = 0;       // Symbolic links, which are not followed: they may lead anywhere.
  std::int64_t unreadable = 0;  // Directories that could not be looked into, files without a size.
  bool complete = true;         // False: there is more than the limits let us look at.
};

struct DatasetLimits {
  std::int64_t entries = 10'000'000;
  Duration time = Duration::seconds(20);
};

// Called for each file that is not empty, with its path and what was found so far, it included.
// False: enough.
using DatasetVisit =
    std::function<bool(const std::string& path, std::int64_t bytes, const DatasetSize& so_far)>;

// A file or a directory with all that is below it; a link only as `path` itself. Directories are
// visited in the order the file system gives. Refuses a path that is not there or is neither:
// "dataset: no such file or directory: '/data'; ...".
Result<DatasetSize> walk_dataset(const std::string& path, const DatasetLimits& limits,
                                 const DatasetVisit& visit);

// The same for its size alone; `progress`, which may be empty, hears of it ten times a second.
Result<DatasetSize> dataset_size(const std::string& path,
                                 const std::function<void(const DatasetSize&)>& progress = {},
                                 const DatasetLimits& limits = {});

}  // namespace muster
