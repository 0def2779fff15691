#pragma once

// The manager's state directory and its clock. The directory contains the journal, the lease
// records, the socket, and instance.json with the id and the creation time of this manager. The
// manager's clock starts at the creation time.

#include <cstdint>
#include <string>

#include "base/types/result.h"
#include "base/types/time.h"

namespace muster {

struct Instance {
  std::string id;                 // Random, 32 hexadecimal digits.
  std::int64_t born_unix_us = 0;  // Creation time.
  // The mode in which a manager last used the directory (live/access/manager_mode.h); empty:
  // unknown, or an earlier version.
  std::string mode = {};
};

// Reads the instance file. Creates the directory (mode 0700) and the file if they are missing.
// Returns kConflict if the directory has a mode that this version does not know, such as `shared`:
// a directory of several users never becomes a personal one without a migration.
Result<Instance> open_instance(const std::string& home);

// Stores the mode in the instance file. REQUIRES: open_instance() succeeded before.
MaybeError store_mode(const std::string& home, const std::string& mode);

// Returns $MUSTER_HOME, $XDG_STATE_HOME/muster or ~/.local/state/muster: the first that is set.
Result<std::string> default_home();

// Microseconds since the manager was created. Never goes back, and ignores jumps of the wall clock
// while the manager runs.
class LiveClock {
 public:
  // `last`: the latest instant in the journal.
  LiveClock(const Instance& instance, Instant last);

  Instant now() const;
  // Converts to the time that users see.
  std::int64_t unix_us(Instant at) const { return born_unix_us_ + at.us(); }

 private:
  std::int64_t born_unix_us_;
  Instant start_;
  std::int64_t start_boot_us_;
};

}  // namespace muster
