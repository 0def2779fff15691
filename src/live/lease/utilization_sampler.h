#pragma once

// Computes the utilization of leases from two successive samples of their total usage.

#include <chrono>
#include <cstdint>
#include <map>
#include <tuple>

#include "exec/lease/executor.h"
#include "live/lease/lease_runner.h"

namespace muster {

class UtilizationSampler {
 public:
  using Clock = std::chrono::steady_clock;
  // Maximum age of a sample.
  static constexpr std::chrono::seconds kHolds{15};

  UseSample look(const MachineUse& seen, Clock::time_point now);

 private:
  struct CpuSeen {
    double cpu_s = 0;
    Clock::time_point at;
  };
  // By job, lease epoch and node rank.
  std::map<std::tuple<std::int64_t, std::int64_t, int>, CpuSeen> cpu_seen_;
};

// Returns a sample of the same leases and GPUs with unknown utilization.
UseSample forgotten(const UseSample& sample);

}  // namespace muster
