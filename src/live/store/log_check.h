#pragma once

// Looks at SQLite's write-ahead log before SQLite does. To SQLite the first frame that does not add
// up is the end of the log, as after a crash; but when transactions follow it, those were begun
// after the broken one was on disk, and what is lost may have been acknowledged.

#include <string>

#include "base/types/result.h"

namespace muster {

// Refuses a log that is broken before its last transaction, naming the byte. No log, an empty one,
// and one torn at its end are fine.
Refusal check_log(const std::string& path);

}  // namespace muster
