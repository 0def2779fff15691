#pragma once

// Checks SQLite's write-ahead log before SQLite opens it. SQLite treats the first invalid frame as
// the end of the log, as after a crash. If transactions follow it, they started after the invalid
// one was durable, so the lost data may have been acknowledged.

#include <string>

#include "base/types/result.h"

namespace muster {

// Returns an error with the byte position if the log is invalid before its last transaction. A
// missing log, an empty one, and one with a torn end are valid.
MaybeError check_log(const std::string& path);

}  // namespace muster
