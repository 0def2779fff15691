#pragma once

// Entries and snapshots of a journal, and the maximum sizes of their texts in bytes.

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/types/time.h"

namespace muster {

inline constexpr std::size_t kLargestText = std::size_t{1} << 20;        // Body or spec.
inline constexpr std::size_t kLargestName = 4096;                        // Other texts.
inline constexpr std::size_t kLargestAuditText = 256;                    // Longer ones are cut.
inline constexpr std::size_t kLargestSnapshot = std::size_t{512} << 20;  // Body of a snapshot.

struct JournalEntry {
  std::string kind;
  Instant at;
  std::string body;  // JSON.

  friend bool operator==(const JournalEntry&, const JournalEntry&) = default;
};

// The state after all entries up to and including seq.
struct Snapshot {
  std::uint64_t seq = 0;
  std::string body;
};

}  // namespace muster
