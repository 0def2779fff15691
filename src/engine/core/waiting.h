#pragma once

// Wait time by cause. Each moment of waiting has exactly one cause, so the times add up.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/types/time.h"

namespace muster {

enum class WaitCause : std::uint8_t {
  kFairShare,      // With this job its tenant would exceed its entitlement.
  kFragmentation,  // Enough GPUs were free, but not where its placement could use them.
  kOrder,          // Other jobs had the GPUs, by the policy order or until the next round.
  kBackoff,        // The job was in back-off.
};
inline constexpr std::size_t kWaitCauses = 4;
inline constexpr std::array<std::string_view, kWaitCauses> kWaitCauseNames = {
    "fair-share", "fragmentation", "order", "back-off"};

struct WaitSplit {
  std::array<Duration, kWaitCauses> by_cause = {};
  bool over_part_on_arrival = false;  // At submission it exceeded the entitlement of its tenant.

  Duration& operator[](WaitCause cause) { return by_cause[static_cast<std::size_t>(cause)]; }
  Duration operator[](WaitCause cause) const { return by_cause[static_cast<std::size_t>(cause)]; }

  // These change only by_cause.
  WaitSplit& operator+=(const WaitSplit& other) {
    for (std::size_t i = 0; i < kWaitCauses; ++i) by_cause[i] += other.by_cause[i];
    return *this;
  }
  WaitSplit& operator-=(const WaitSplit& other) {
    for (std::size_t i = 0; i < kWaitCauses; ++i) by_cause[i] -= other.by_cause[i];
    return *this;
  }
};

// Measures how long each cause has applied to a group of jobs that wait for one cause at a time. A
// planner keeps one per demand class. The wait times of a single job follow from its start and end,
// without cost while it waits.
class WaitCauseTimer {
 public:
  WaitCause cause() const { return cause_; }
  void set(WaitCause cause, Instant now) {
    if (cause == cause_) return;
    total_ = at(now);
    since_ = now;
    cause_ = cause;
  }

  // Call join() when a job starts to wait and leave() when it stops. In between its wait time is
  // `waited` + at(now).
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
  WaitSplit total_;  // Up to since_.
};

}  // namespace muster
