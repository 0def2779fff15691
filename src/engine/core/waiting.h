#pragma once

// Why a job waited, in time that adds up: each moment of waiting has one cause.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/types/time.h"

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

  // Of the times alone.
  WaitSplit& operator+=(const WaitSplit& other) {
    for (std::size_t i = 0; i < kWaitCauses; ++i) by_cause[i] += other.by_cause[i];
    return *this;
  }
  WaitSplit& operator-=(const WaitSplit& other) {
    for (std::size_t i = 0; i < kWaitCauses; ++i) by_cause[i] -= other.by_cause[i];
    return *this;
  }
};

// For many jobs that wait for one reason at a time: how long each reason has held, whoever waited.
// A planner keeps one for each kind of job and learns from it what a single job waited for, at no
// cost while the job waits.
class CauseClock {
 public:
  WaitCause cause() const { return cause_; }
  void set(WaitCause cause, Instant now) {
    if (cause == cause_) return;
    total_ = at(now);
    since_ = now;
    cause_ = cause;
  }

  // Between these two calls `waited` is off by what the clock said at the first; add at(now) to
  // know it earlier.
  void join(WaitSplit& waited, Instant now) const { waited -= at(now); }
  void leave(WaitSplit& waited, Instant now) const { waited += at(now); }

  WaitSplit at(Instant now) const {
    WaitSplit split = total_;
    split[cause_] += now - since_;
    return split;
  }

 private:
  WaitCause cause_ = WaitCause::kOrder;
  Instant since_;
  WaitSplit total_;  // Until then.
};

}  // namespace muster
