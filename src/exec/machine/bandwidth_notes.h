#pragma once

// Saved bandwidth results of this host, in the file bandwidth.json. The content is not trusted: at
// most 64 KiB are read, and invalid entries are ignored.

#include <cstdint>
#include <optional>
#include <string>

namespace muster {

struct BandwidthKey {
  std::uint64_t device = 0;  // st_dev; zero for memory.
  std::string kind;          // "memory, 4 threads".
};

// Returns the saved result in MiB/s; nullopt if there is none from the last 30 days.
std::optional<double> recall_bandwidth(const std::string& directory, const BandwidthKey& key);

// Saves a result and replaces the old one. Ignores errors; the next call then measures again.
void note_bandwidth(const std::string& directory, const BandwidthKey& key, double mib_per_s);

}  // namespace muster
