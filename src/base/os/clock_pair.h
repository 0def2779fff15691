#pragma once

// One instant as two clocks show it.

#include <cstdint>

namespace muster {

// The same instant on both clocks: the wall clock for people, boot time (which does not jump and
// counts suspension) for lengths.
struct TwoClocks {
  std::int64_t wall_us = 0;
  std::int64_t boot_us = 0;
  friend bool operator==(const TwoClocks&, const TwoClocks&) = default;
};

}  // namespace muster
