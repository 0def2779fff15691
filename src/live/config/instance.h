#pragma once

// Where the manager lives on disk, and its time. The home directory has the journal, the leases'
// records, the socket, and a small file that says who this manager is and when it was born: its
// clock counts from there.

#include <cstdint>
#include <string>

#include "base/types/result.h"
#include "base/types/time.h"

namespace muster {

struct Instance {
  std::string id;  // Random, 32 hexadecimal digits.
  std::int64_t born_unix_us = 0;
};

// Makes the directory (0700) and the file if they are missing.
Result<Instance> open_instance(const std::string& home);

// Where a user's manager lives: $MUSTER_HOME, $XDG_STATE_HOME/muster or ~/.local/state/muster.
Result<std::string> default_home();

// Microseconds since the manager was born; never goes back, whatever the wall clock does, and does
// not follow its jumps while the manager runs.
class LiveClock {
 public:
  // `last`: the latest instant in the journal.
  LiveClock(const Instance& instance, Instant last);

  Instant now() const;
  // What people see.
  std::int64_t unix_us(Instant at) const { return born_unix_us_ + at.us(); }

 private:
  std::int64_t born_unix_us_;
  Instant start_;
  std::int64_t start_boot_us_;
};

}  // namespace muster
