#pragma once

// What the simulator knows will happen, soonest first. An event that no longer holds (a job's end,
// after its speed changed) is not searched for and removed; its owner recognises it by its tag.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/id.h"
#include "base/time.h"

namespace muster {

struct Pending {
  Instant at;
  enum class Kind : std::uint8_t { kFinish, kStopped, kStarted } kind;
  JobId job;
  std::uint32_t tag;  // The version of the job's end for kFinish, the lease's epoch otherwise.

  friend bool operator>(const Pending& a, const Pending& b) {
    if (a.at != b.at) return a.at > b.at;
    if (a.kind != b.kind) return a.kind > b.kind;
    return a.job > b.job;
  }
};

class PendingEvents {
 public:
  bool empty() const { return heap_.empty(); }
  const Pending& first() const { return heap_.front(); }
  void push(const Pending& event) {
    heap_.push_back(event);
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }
  Pending pop() {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    const Pending event = heap_.back();
    heap_.pop_back();
    return event;
  }

 private:
  std::vector<Pending> heap_;
};

}  // namespace muster
