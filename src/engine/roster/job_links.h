#pragma once

// Links between jobs that a roster keeps.

#include <cstdint>
#include <deque>

#include "engine/roster/input.h"

namespace muster {

struct ArrayLine {  // An array with a limit.
  std::int32_t active = 0;
  std::deque<LiveId> waiting;
};
struct Dependent {  // A job that waits for another one.
  LiveId id = 0;
  bool wants_ok = false;
};

}  // namespace muster
