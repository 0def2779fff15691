#pragma once

// Who waited for whom: every moment that a job waits is shared out among those who hold GPUs at
// that moment, in proportion to the GPUs each holds. For who_waited.cc.

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

// Row a, column b: microseconds that jobs of a waited for b, a itself among them. The last column,
// one more than there are parties, is for moments at which nobody held anything. A row adds up to
// the time its jobs waited. For n holds and waits (n log n) + n * parties time.
std::vector<std::vector<double>> waited_for(const std::vector<PartyWait>& waits,
                                            const std::vector<PartyHold>& holds,
                                            std::size_t parties);

}  // namespace muster
