#pragma once

// Why jobs waited, by how large they are: the split that the Philly study made of its queueing
// delays. Two estimators of the part that fair sharing has in it: by time, each second under the
// cause that held then; and by the state a job met on arrival, as the study counted.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/results/overtaking.h"
#include "sim/run/result.h"

namespace muster {

inline constexpr std::array<std::string_view, 4> kWaitSizes = {"1", "2-4", "5-8", ">8"};
std::size_t wait_size_of(std::int32_t gpus);  // In kWaitSizes.

// Jobs that ran less do not count where the study asks who waited for what.
inline constexpr Duration kRealRun = Duration::seconds(60);

struct WaitingOfSize {
  std::uint64_t jobs = 0;  // Finished ones; all below is of them.
  std::array<Duration, kWaitCauses> by_cause = {};
  // Of those that waited at all and ran for a minute, as the study has it.
  std::uint64_t waited = 0;
  std::uint64_t over_part_on_arrival = 0;

  Duration total() const;
  // Of the whole waiting; 0 when nobody waited.
  double share(WaitCause cause) const;
  void add(const WaitingOfSize& other);
};

struct WaitingSummary {
  std::array<WaitingOfSize, kWaitSizes.size()> by_size;
  OvertakingResult overtaking;  // Over the whole run.

  WaitingOfSize all() const;
};

// Jobs [first, last) in trace order.
WaitingSummary summarize_waiting(const SimResult& result, std::size_t first, std::size_t last);

}  // namespace muster
