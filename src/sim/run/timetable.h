#pragma once

// What the simulator knows will happen to jobs, soonest first: each job has at most one thing ahead
// of it (its start, its end or its stop), and a new one replaces it. So there are never more
// entries than jobs that hold GPUs, however often they are stopped. A tournament of slots, because
// entries change far more often than they are few.

#include <cstdint>
#include <vector>

#include "base/types/id.h"
#include "base/types/time.h"

namespace muster {

class Timetable {
 public:
  enum class Kind : std::uint32_t { kFinish, kFail, kStopped, kStarted };
  struct Entry {
    Instant at = Instant::never();
    JobId job;
    Kind kind = Kind::kFinish;
    std::uint32_t tag = 0;  // The caller's, such as a lease's epoch.
  };

  // Soonest first; at the same time ends before failures before stops before starts, then the older
  // job. Its time is never() when nothing is ahead.
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

  // Without branches: who is sooner is anybody's guess, and a wrong guess costs more than the rest.
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
      if (winner_[match] == last && last != slot) return;  // Nobody above has seen this slot.
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
  std::vector<std::uint32_t> slot_of_;  // By job.
};

}  // namespace muster
