#pragma once

// One instant on two clocks.

#include <cstdint>

namespace muster {

// The same instant on the wall clock and on the boot clock, in microseconds. The wall clock is for
// display. The boot clock measures durations: it never jumps and it includes suspended time.
struct ClockPair {
  std::int64_t wall_us = 0;
  std::int64_t boot_us = 0;
  friend bool operator==(const ClockPair&, const ClockPair&) = default;
};

}  // namespace muster
