#pragma once

// Running jobs by rank, as of the last time each rank was computed. A ComposedPlanner whose policy
// preempts keeps one. It is always nearly sorted, so moving one entry into place is usually O(1).

#include <cstddef>
#include <vector>

#include "base/types/id.h"
#include "base/types/time.h"
#include "engine/core/rank.h"

namespace muster {

class RunningRanks {
 public:
  // Allocates space for jobs with an id below `count`. Call before add().
  void resize(std::size_t count) { ranked_at_.resize(count, Instant::never()); }

  void add(JobId job, const Rank& rank, Instant now) {
    entries_.push_back({job, rank});
    ranked_at_[job] = now;
    sift_forward(entries_.size() - 1, now);
  }
  void assign(const std::vector<RankedJob>& ordered) { entries_ = ordered; }
  bool drop(JobId job);  // Returns false if the job is not in the list. O(n).

  // Whether the rank of a job was computed at `now`. note_ranked() records that.
  bool is_ranked(JobId job, Instant now) const { return ranked_at_[job] == now; }
  void note_ranked(JobId job, Instant now) { ranked_at_[job] = now; }

  // Moves one entry forward to its position by rank. REQUIRES: the entries before it are sorted.
  void sift_forward(std::size_t at, Instant now) {
    if (at == 0 || !goes_before(entries_[at], entries_[at - 1], now)) return;  // The usual case.
    move_forward(at, now);
  }

  std::size_t size() const { return entries_.size(); }
  RankedJob& operator[](std::size_t at) { return entries_[at]; }
  const RankedJob& operator[](std::size_t at) const { return entries_[at]; }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  void move_forward(std::size_t at, Instant now);

  std::vector<RankedJob> entries_;
  IdVector<JobId, Instant> ranked_at_;
};

}  // namespace muster
