#pragma once

// Numbers as reports write them. Pure functions; nothing depends on the locale.

#include <cstdint>
#include <string>

#include "base/text/text.h"
#include "base/text/utf8.h"

namespace muster {

// "82,247".
std::string grouped(std::uint64_t number);

// CPUs and GB in millionths, of what leases count in.
inline std::int64_t cpus_in_millionths(std::int64_t cpu_milli) { return cpu_milli * 1000; }
inline std::int64_t gb_in_millionths(std::int64_t mem_mib) {
  return (mem_mib * 1'000'000 + 512) / 1024;
}

// A finite value rounded to whole millionths, for append_millionths(); at most 9e12 either way.
std::int64_t in_millionths(double value);

}  // namespace muster
