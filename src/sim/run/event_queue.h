#pragma once

// The next event of each job in the simulator (its start, end, failure or stop), sorted by time.
// Each job has at most one entry; a new one replaces it. So the size is bounded by the number of
// jobs with leases. A tournament tree, because entries change far more often than they are removed.
// set() and clear() cost O(log n). Simulation and Lookahead use it.

#include <cstdint>
#include <vector>

#include "base/types/id.h"
#include "base/types/time.h"

namespace muster {

class EventQueue {
 public:
  enum class Kind : std::uint32_t { kFinish, kFail, kStopped, kStarted };
  struct Entry {
    Instant at = Instant::never();
    JobId job;
    Kind kind = Kind::kFinish;
    std::uint32_t tag = 0;  // Set by the caller, for example the lease epoch.
  };

  // The soonest entry. At the same time, finishes come before failures, stops and starts, then the
  // older job. Its time is never() if the queue is empty.
  const Entry& first() const { return slots_[winner_[1]]; }

  void set(JobId job, const Entry& entry) {
    std::uint32_t& slot = slot_of(job);
    if (slot == kNone) {
      if (free_.empty()) grow();
      slot = free_.back();
      free_.pop_back();
    }
    slots_[slot] = entry;
    slots_[slot].job = job;
    replay(slot);
  }

  void clear(JobId job) {
    std::uint32_t& slot = slot_of(job);
    if (slot == kNone) return;
    slots_[slot] = Entry{};
    replay(slot);
    free_.push_back(slot);
    slot = kNone;
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // Branch-free: the result is unpredictable, and a branch misprediction costs more than the rest.
  static bool sooner(const Entry& a, const Entry& b) {
    const auto rest = [](const Entry& entry) {
      return std::uint64_t{static_cast<std::uint32_t>(entry.kind)} << 32 | entry.job.index();
    };
    return static_cast<bool>(static_cast<int>(a.at < b.at) | (static_cast<int>(a.at == b.at) &
                                                              static_cast<int>(rest(a) < rest(b))));
  }

  std::uint32_t& slot_of(JobId job) {
    if (job.index() >= slot_of_.size()) slot_of_.resize(std::size_t{job.index()} + 1, kNone);
    return slot_of_[job.index()];
  }

  void play(std::uint32_t match) {
    const std::uint32_t left = winner_[2 * match];
    const std::uint32_t right = winner_[2 * match + 1];
    const auto keep = static_cast<std::uint32_t>(sooner(slots_[right], slots_[left])) - 1;
    winner_[match] = (left & keep) | (right & ~keep);
  }

  void replay(std::uint32_t slot) {
    for (std::uint32_t match = (width_ + slot) / 2; match >= 1; match /= 2) {
      const std::uint32_t last = winner_[match];
      play(match);
      if (winner_[match] == last && last != slot) return;  // No higher match involved this slot.
    }
  }

  void grow() {
    const std::uint32_t old = width_;
    width_ *= 2;
    slots_.resize(width_);
    winner_.resize(std::size_t{width_} * 2);
    for (std::uint32_t slot = 0; slot < width_; ++slot) winner_[width_ + slot] = slot;
    for (std::uint32_t match = width_ - 1; match >= 1; --match) play(match);
    for (std::uint32_t slot = width_; slot-- > old;) free_.push_back(slot);
  }

  std::uint32_t width_ = 1;  // A power of two. Slot 0 of the first one stays empty.
  std::vector<Entry> slots_ = std::vector<Entry>(1);
  std::vector<std::uint32_t> winner_ = {0, 0};  // 1 is the final; the last `width_` are the slots.
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> slot_of_;  // Indexed by job.
};

}  // namespace muster
