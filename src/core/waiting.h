#pragma once

// Why a job waited, in time that adds up: each moment of waiting has one cause.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/time.h"

namespace muster {

enum class WaitCause : std::uint8_t {
  kFairShare,      // Its tenant holds so much that this job would be more than its part.
  kFragmentation,  // Enough GPUs were free, but not where its placement could use them.
  kOrder,          // The GPUs were others', by the policy's order or until the next round.
  kBackoff,        // It had given up for a while and did not ask.
};
inline constexpr std::size_t kWaitCauses = 4;
inline constexpr std::array<std::string_view, kWaitCauses> kWaitCauseNames = {
    "fair-share", "fragmentation", "order", "back-off"};

struct WaitSplit {
  std::array<Duration, kWaitCauses> by_cause = {};
  bool over_part_on_arrival = false;  // Its tenant had used its part up when it was submitted.

  Duration& operator[](WaitCause cause) { return by_cause[static_cast<std::size_t>(cause)]; }
  Duration operator[](WaitCause cause) const { return by_cause[static_cast<std::size_t>(cause)]; }
};

}  // namespace muster
