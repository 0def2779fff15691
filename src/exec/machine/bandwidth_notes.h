#pragma once

// Bandwidths measured on this host before, in one small file of a directory: bandwidth.json. What
// is in it may be anybody's: it is read up to 64 KiB, and whatever is not a figure of ours is as
// good as absent.

#include <cstdint>
#include <optional>
#include <string>

namespace muster {

struct BandwidthKey {
  std::uint64_t device = 0;  // st_dev; zero for memory.
  std::string kind;          // "memory, 4 threads".
};

// In MiB/s; nothing if there is none, or none of the last 30 days.
std::optional<double> recall_bandwidth(const std::string& directory, const BandwidthKey& key);

// Replaces what was noted under this key. What cannot be written is measured again next time.
void note_bandwidth(const std::string& directory, const BandwidthKey& key, double mib_per_s);

}  // namespace muster
