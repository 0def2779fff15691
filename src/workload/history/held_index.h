#pragma once

// An index of the attempt that held each GPU in each minute. philly_use.cc uses it to join GPU
// utilization with jobs. An attempt holds its GPUs from the minute of its start to the last minute
// that begins before its end, as in the Philly notebook. If two attempts claim a GPU, the later one
// has it from its start.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "workload/history/history.h"
#include "workload/history/use_study.h"

namespace muster {

using Minute = std::int32_t;  // Minutes since 1970, UTC.

// Returns whether the attempt has all GPUs of its nodes; false if its nodes are unknown.
bool has_all_gpus(const History& history, const Attempt& attempt);

class HeldIndex {
 public:
  struct Holder {
    std::uint32_t job = 0;   // Index in History::jobs.
    std::uint32_t cell = 0;  // Index in cells().
  };

  // Ignores attempts without start or end; unused() counts them.
  explicit HeldIndex(const History& history);

  // Returns the holder of the GPU in this minute, or null if there is none. Usually O(1) if the
  // minutes per GPU ascend, otherwise O(log n) for n attempts on the GPU.
  const Holder* find(std::size_t node, std::size_t gpu, Minute minute) {
    const std::size_t slot = gpu < kGpus ? first_slot_[node] + gpu : first_slot_.back();
    if (slot >= first_slot_[node + 1]) return nullptr;
    Cursor& cursor = cursors_[slot];
    if (minute < cursor.begin || minute >= cursor.end) [[unlikely]] {
      move(cursor, slot, minute);
    }
    return cursor.span == kNobody ? nullptr : &spans_[cursor.span].holder;
  }

  // Empty histograms, one per kind of attempt, in the order of UseStudy::gpus.
  const std::vector<UseCell>& cells() const { return cells_; }
  std::int64_t unused() const { return unused_; }
  // Number of times that two attempts claim a GPU for more than one minute.
  std::int64_t conflicts() const { return conflicts_; }

 private:
  static constexpr std::size_t kGpus = 64;  // Maximum number of GPUs per node.
  static constexpr std::uint32_t kNobody = 0xffffffff;

  struct Span {
    Minute begin = 0;
    Minute end = 0;
    Holder holder;
  };
  // The span of the last lookup, or the gap between two spans (kNobody).
  struct Cursor {
    Minute begin = 0;
    Minute end = 0;
    std::uint32_t span = kNobody;
  };

  void number_slots(const History& history);
  void number_spans(const History& history);
  void fill(const History& history);
  void put_in_order();
  void move(Cursor& cursor, std::size_t slot, Minute minute) const;

  // A slot is a GPU of a node; its spans are first_span_[slot] up to first_span_[slot + 1].
  std::vector<std::size_t> first_slot_;  // First slot of each node, and the end.
  std::vector<std::size_t> first_span_;
  std::vector<Span> spans_;
  std::vector<Cursor> cursors_;
  std::vector<UseCell> cells_;
  std::int64_t unused_ = 0;
  std::int64_t conflicts_ = 0;
};

}  // namespace muster
