#pragma once

// Measures the read bandwidth of memory and of the storage of a data set, in one or two seconds.
// The results are saved for 30 days, because they do not depend on the job.

#include <string>

#include "base/types/result.h"

namespace muster {

struct Bandwidth {
  double mib_per_s = 0;
  bool remembered = false;  // A saved result, measured within the last 30 days.
};

// In both functions, `notes` is the directory of saved results (see bandwidth_notes.h). It is
// created if missing. If it is empty, not writable or corrupted, the bandwidth is measured again.

// Measures memory: `threads` threads (1 to 256) read a buffer that is larger than the caches.
// Returns the best of several rounds. Takes half a second on most machines.
Result<Bandwidth> memory_bandwidth(int threads, const std::string& notes);

// Measures storage: four threads read files of the data set without the page cache, at most 256 MiB
// and 1.5 s. Results for small and for large files are saved separately. If the data set is smaller
// than 8 MiB, it needs `scratch`, a directory on the same file system, and writes 64 MiB to an
// unnamed file there. It fails if `scratch` is empty.
Result<Bandwidth> storage_bandwidth(const std::string& dataset, const std::string& scratch,
                                    const std::string& notes);

}  // namespace muster
