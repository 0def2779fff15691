#pragma once

// Attributes waiting time: each moment that a job waits is divided among the parties that hold GPUs
// at that moment, in proportion to their GPUs. wait_attribution.cc calls it.

#include <cstdint>
#include <vector>

#include "base/types/time.h"

namespace muster {

struct PartyHold {
  Instant begin;
  Instant end;
  std::int64_t gpus = 0;
  std::uint32_t party = 0;
};

struct PartyWait {
  Instant begin;
  Instant end;  // Not before begin.
  std::uint32_t party = 0;
};

// Row a, column b: microseconds that jobs of a waited while b held GPUs, including b = a. The last
// column (index `parties`) covers moments when no party held GPUs. Each row adds up to the waiting
// time of its jobs. O(n log n + n * parties) for n holds and waits.
std::vector<std::vector<double>> waited_for(const std::vector<PartyWait>& waits,
                                            const std::vector<PartyHold>& holds,
                                            std::size_t parties);

}  // namespace muster
