#pragma once

// Where a lease was, as its row tells it: what Roster::where() wrote, read back.

#include <cstdint>
#include <string_view>
#include <vector>

namespace muster {

struct PlacedOn {
  std::string_view server;
  std::uint64_t gpus = 0;  // Bit i: GPU i.
};

// "n1:0-1+3,n2:0". Nothing if it is anything else, as where a row was cut. Points into the text.
std::vector<PlacedOn> read_placed(std::string_view text);

}  // namespace muster
