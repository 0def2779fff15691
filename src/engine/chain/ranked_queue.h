#pragma once

// Waiting jobs in a policy's order, for long queues: the first is found at once, insertion and
// removal cost log n, and the passing of time costs only what it reorders. A tournament tree whose
// every match knows when its winner will be overtaken (a kinetic tournament); jobs whose ranks
// stand still are never compared again. Naive twin in the test: sort everything, every time.

#include <cstdint>
#include <vector>

#include "base/types/id.h"
#include "base/types/time.h"
#include "engine/core/rank.h"

namespace muster {

class RankedQueue {
 public:
  using Slot = std::uint32_t;

  // The slot stays valid until removed; the caller keeps it to remove the job again.
  Slot insert(JobId job, const Rank& rank, Instant now);
  void remove(Slot slot, Instant now);

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // Brings the order up to `now`, which never goes back. Call before first() or a Walk.
  void advance(Instant now);

  using Entry = RankedJob;
  const Entry& first() const;  // Not when empty.

  // Every job, in no order.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (Slot slot = 0; slot < width_; ++slot) {
      if (matches_[width_ + slot].winner == slot) visit(entries_[slot]);
    }
  }

  // Visits the jobs in order, the first at once and each further one in log n. Changing the queue
  // ends the walk.
  class Walk {
   public:
    void begin(const RankedQueue& queue, Instant now);
    bool done() const { return current_ == kNone; }
    const Entry& entry() const { return queue_->entries_[current_]; }
    void next();

   private:
    const RankedQueue* queue_ = nullptr;
    Instant now_;
    Slot current_ = kNone;
    std::uint32_t top_ = 1;            // The subtree that `current_` won.
    std::vector<std::uint32_t> open_;  // Subtrees not yet entered.
  };

 private:
  static constexpr Slot kNone = ~Slot{0};

  bool before(Slot a, Slot b, Instant now) const;
  void play(std::uint32_t match, Instant now);
  void replay_above(Slot slot, Instant now);
  void advance_below(std::uint32_t match, Instant now);
  void grow(Instant now);

  struct Match {
    Slot winner = kNone;
    Instant holds_until = Instant::never();  // For every match of this subtree.
  };
  std::uint32_t width_ = 0;  // Leaves: a power of two, or none yet.
  std::size_t size_ = 0;
  std::vector<Entry> entries_;  // By slot.
  std::vector<Match> matches_;  // 1 is the final; match m is played by 2m and 2m + 1.
  std::vector<Slot> free_;
};

}  // namespace muster
