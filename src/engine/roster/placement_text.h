#pragma once

// Parses the placement of a lease, as written by RosterView::where().

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace muster {

struct PlacedOn {
  std::string_view node;
  std::uint64_t gpus = 0;  // Bit mask: bit i is GPU i.
};

// Longer texts are truncated in the tables.
inline constexpr std::size_t kMaxPlacedText = 2'000;

// Parses "n1:0-1+3,n2:0". Returns an empty list if the text is invalid or may be truncated. The
// result refers to `text`.
std::vector<PlacedOn> read_placed(std::string_view text);

}  // namespace muster
