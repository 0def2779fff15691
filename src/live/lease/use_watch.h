#pragma once

// How busy leases are, from looks at what they have used so far: between two that are not far
// apart.

#include <chrono>
#include <cstdint>
#include <map>
#include <tuple>

#include "exec/lease/executor.h"
#include "live/lease/hands.h"

namespace muster {

class UseWatch {
 public:
  using Clock = std::chrono::steady_clock;
  // After that a look says nothing of the present.
  static constexpr std::chrono::seconds kHolds{15};

  UseSample look(const MachineUse& seen, Clock::time_point now);

 private:
  struct CpuSeen {
    double cpu_s = 0;
    Clock::time_point at;
  };
  std::map<std::tuple<std::int64_t, std::int64_t, int>, CpuSeen> cpu_seen_;  // Job, epoch, rank.
};

// Of the same things, without a word on how busy they are.
UseSample forgotten(const UseSample& sample);

}  // namespace muster
