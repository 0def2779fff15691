#pragma once

// Times at which the engine must look at jobs again. A min-heap: first() costs O(1), add() and
// drop_first() cost O(log n). Entries of one time are ordered by job id.

#include <algorithm>
#include <functional>
#include <vector>

#include "base/types/id.h"
#include "base/types/time.h"

namespace muster {

class JobTimers {
 public:
  struct Timer {
    Instant until;
    JobId job;
    friend bool operator>(const Timer& a, const Timer& b) {
      return a.until != b.until ? a.until > b.until : a.job > b.job;
    }
  };

  bool empty() const { return heap_.empty(); }
  const Timer& first() const { return heap_.front(); }  // REQUIRES: not empty.
  void add(Instant until, JobId job) {
    heap_.push_back({until, job});
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }
  void drop_first() {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    heap_.pop_back();
  }
  // Returns the time of any timer of `job`, or never() if it has none. O(n).
  Instant until(JobId job) const {
    const auto found = std::find_if(heap_.begin(), heap_.end(),
                                    [job](const Timer& timer) { return timer.job == job; });
    return found == heap_.end() ? Instant::never() : found->until;
  }

 private:
  std::vector<Timer> heap_;
};

}  // namespace muster
