#pragma once

// Waiting jobs in the order of a policy, for long queues. first() is O(1), insert() and remove()
// are O(log n), and time costs only the changes of order. It is a kinetic tournament: a tournament
// tree in which each match stores when its winner will be overtaken. Jobs with constant ranks are
// never compared again. The test compares it with a full sort at each call.

#include <cstdint>
#include <vector>

#include "base/types/id.h"
#include "base/types/time.h"
#include "engine/core/rank.h"

namespace muster {

class RankedQueue {
 public:
  using Slot = std::uint32_t;

  // Returns a slot, which is valid until remove(slot).
  Slot insert(JobId job, const Rank& rank, Instant now);
  void remove(Slot slot, Instant now);

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // Updates the order to `now`. Call it before first() or Walk::begin(). REQUIRES: `now` never
  // decreases.
  void advance(Instant now);

  using Entry = RankedJob;
  const Entry& first() const;  // REQUIRES: not empty.

  // Visits every job, in no particular order.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (Slot slot = 0; slot < width_; ++slot) {
      if (matches_[width_ + slot].winner == slot) visit(entries_[slot]);
    }
  }

  // Visits the jobs in order. begin() is O(1) and next() is O(log n). A change of the queue
  // invalidates the walk.
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
    std::uint32_t top_ = 1;            // Root of the subtree that `current_` won.
    std::vector<std::uint32_t> open_;  // Roots of subtrees not yet entered.
  };

 private:
  static constexpr Slot kNone = ~Slot{0};

  bool before(Slot a, Slot b, Instant now) const {
    return goes_before(entries_[a], entries_[b], now);
  }
  void play(std::uint32_t match, Instant now);
  void replay_above(Slot slot, Instant now);
  void advance_below(std::uint32_t match, Instant now);
  void grow(Instant now);

  struct Match {
    Slot winner = kNone;
    Instant holds_until = Instant::never();  // Applies to every match of this subtree.
  };
  std::uint32_t width_ = 0;  // Number of leaves: a power of two, or 0 at first.
  std::size_t size_ = 0;
  std::vector<Entry> entries_;  // By slot.
  std::vector<Match> matches_;  // 1 is the final; 2m and 2m + 1 play match m.
  std::vector<Slot> free_;
};

}  // namespace muster
