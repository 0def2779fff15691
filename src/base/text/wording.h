#pragma once

// Formats numbers for reports. Pure functions, independent of the locale.

#include <cstdint>
#include <string>

#include "base/text/text.h"
#include "base/text/utf8.h"

namespace muster {

// Returns the number with thousands separators: "82,247".
std::string grouped(std::uint64_t number);

// Convert the units of leases (CPU milli, MiB) to millionths of a CPU and of a GB.
inline std::int64_t cpus_in_millionths(std::int64_t cpu_milli) { return cpu_milli * 1000; }
inline std::int64_t gb_in_millionths(std::int64_t mem_mib) {
  return (mem_mib * 1'000'000 + 512) / 1024;
}

// Rounds to whole millionths, for append_millionths().
// REQUIRES: the value is finite and its absolute value is at most 9e12.
std::int64_t in_millionths(double value);

}  // namespace muster
