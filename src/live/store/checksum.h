#pragma once

// Checksum of a journal entry. Detects damage, not tampering.

#include <cstdint>
#include <string_view>

#include "base/types/digest.h"

namespace muster {

// Adds eight bytes at a time, because snapshots have megabytes.
inline void add_bytes(Digest& digest, std::string_view text) {
  digest.add(static_cast<std::uint64_t>(text.size()));
  while (!text.empty()) {
    const std::string_view chunk = text.substr(0, 8);
    std::uint64_t word = 0;
    for (const char c : chunk) word = word << 8 | static_cast<unsigned char>(c);
    digest.add(word);
    text.remove_prefix(chunk.size());
  }
}

inline std::int64_t checksum(std::uint64_t seq, std::string_view kind, std::int64_t at,
                             std::string_view body) {
  Digest digest;
  digest.add(seq);
  add_bytes(digest, kind);
  digest.add(at);
  add_bytes(digest, body);
  return static_cast<std::int64_t>(digest.value());
}

}  // namespace muster
