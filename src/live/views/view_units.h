#pragma once

// Converts to the units of the API: seconds since 1970, CPUs, GiB.

#include <cstdint>

#include "live/config/state_directory.h"

namespace muster {

inline double unix_s(const LiveClock& clock, Instant at) {
  return static_cast<double>(clock.unix_us(at) / 1000) / 1000;
}
inline double gib(std::int64_t mib) { return static_cast<double>(mib) / 1024; }
inline double cpus(std::int64_t milli) { return static_cast<double>(milli) / 1000; }

}  // namespace muster
