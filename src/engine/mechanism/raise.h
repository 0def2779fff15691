#pragma once

// The best use of CPUs that are left on a node, for Tune.

#include <cstdint>

#include "engine/core/resource_ledger.h"
#include "engine/model/profile.h"

namespace muster {

// A larger amount per GPU for one job, and the speed that it adds per thousandth of a CPU.
struct Raise {
  std::uint32_t ask = 0;  // Set by the caller.
  Resources per_gpu;
  double gain = 0;
};

// Returns the raise with the largest gain for a job that holds `share`, limited by `room` and by
// `max_cpu_milli` in total. The gain is 0 if more CPUs do not help.
Raise best_raise(const Profile& profile, const Share& share, const ResourceLedger::Room& room,
                 std::int64_t max_cpu_milli);

}  // namespace muster
