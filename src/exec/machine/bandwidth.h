#pragma once

// How fast this machine reads memory, and the storage that holds a data set: measured in a second
// or two, and remembered for 30 days, since neither changes from job to job.

#include <string>

#include "base/types/result.h"

namespace muster {

struct Bandwidth {
  double mib_per_s = 0;
  bool remembered = false;  // As it was measured within the last 30 days; not now.
};

// In both, `notes` is the directory where figures are remembered, by host, device and kind of
// reading; made if it is not there. Empty, not writable or damaged: the figure is measured again,
// and nothing else goes wrong.

// So many threads (1 to 256) reading a buffer that no cache holds, together; the best of several
// rounds. Half a second on most machines.
Result<Bandwidth> memory_bandwidth(int threads, const std::string& notes);

// Files of the data set, read by four threads past the page cache (or dropped from it before, where
// a file system must cache): at most 256 MiB and 1.5 s. Data sets of many small files and of
// large ones are remembered apart. Nothing is written, unless the data set is too small to tell
// (below 8 MiB) and `scratch` is not empty: then 64 MiB in a file of no name in that directory,
// which must be on the same file system as the data set.
Result<Bandwidth> storage_bandwidth(const std::string& dataset, const std::string& scratch,
                                    const std::string& notes);

}  // namespace muster
