#pragma once

// Where a lease was, as its row tells it: what Roster::where() wrote, read back.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace muster {

struct PlacedOn {
  std::string_view server;
  std::uint64_t gpus = 0;  // Bit i: GPU i.
};

// Of a longer text rows hold only the beginning.
inline constexpr std::size_t kMostPlacedText = 2'000;

// "n1:0-1+3,n2:0". Nothing if it is anything else, or may have been cut. Points into the text.
std::vector<PlacedOn> read_placed(std::string_view text);

}  // namespace muster
