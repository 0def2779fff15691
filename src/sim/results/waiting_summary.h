#pragma once

// Causes of waiting by job size, split as in the Philly study. There are two estimates of the
// effect of fair sharing: by time (each second counts for its current cause), and by the state of
// the tenant when the job arrived, as in the study.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/results/overtaking.h"
#include "sim/run/result.h"

namespace muster {

inline constexpr std::array<std::string_view, 4> kWaitSizes = {"1", "2-4", "5-8", ">8"};
std::size_t wait_size_of(std::int32_t gpus);  // Index into kWaitSizes.

// Shorter jobs do not count in the study's statistics of causes.
inline constexpr Duration kRealRun = Duration::seconds(60);

struct WaitingOfSize {
  std::uint64_t jobs = 0;  // Finished jobs; all values below are of these.
  std::array<Duration, kWaitCauses> by_cause = {};
  // Jobs that waited at all and ran for at least a minute, as in the study.
  std::uint64_t waited = 0;
  std::uint64_t over_part_on_arrival = 0;

  Duration total() const;
  // Share of the total waiting time; 0 if no job waited.
  double share(WaitCause cause) const;
  void add(const WaitingOfSize& other);
};

struct WaitingSummary {
  std::array<WaitingOfSize, kWaitSizes.size()> by_size;
  OvertakingResult overtaking;  // Covers the whole run.

  WaitingOfSize all() const;
};

// Summarizes jobs [first, last) in trace order.
WaitingSummary summarize_waiting(const SimResult& result, std::size_t first, std::size_t last);

}  // namespace muster
