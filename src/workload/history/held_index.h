#pragma once

// Who held a GPU at a minute, for joining what GPUs did, minute by minute, with jobs. An attempt
// holds its GPUs from the minute in which it starts to the last one that begins before its end, as
// the Philly notebook counts. Where two attempts claim a GPU, it is the later's from its start on.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "workload/history/history.h"
#include "workload/history/use_study.h"

namespace muster {

using Minute = std::int32_t;  // Since 1970, UTC.

class HeldIndex {
 public:
  struct Holder {
    std::uint32_t job = 0;   // In History::jobs.
    std::uint32_t cell = 0;  // In cells().
  };

  // Attempts without start or end hold nothing; unused() counts them.
  explicit HeldIndex(const History& history);

  // Null if nobody did. Quick when the minutes asked for of one GPU ascend.
  const Holder* find(std::size_t server, std::size_t gpu, Minute minute) {
    const std::size_t slot = gpu < kGpus ? first_slot_[server] + gpu : first_slot_.back();
    if (slot >= first_slot_[server + 1]) return nullptr;
    Cursor& cursor = cursors_[slot];
    if (minute < cursor.begin || minute >= cursor.end) [[unlikely]] {
      move(cursor, slot, minute);
    }
    return cursor.span == kNobody ? nullptr : &spans_[cursor.span].holder;
  }

  // Empty histograms, one a kind of attempt, in the order of UseStudy::gpus.
  const std::vector<UseCell>& cells() const { return cells_; }
  std::int64_t unused() const { return unused_; }
  std::int64_t conflicts() const { return conflicts_; }  // GPUs that two held for over a minute.

 private:
  static constexpr std::size_t kGpus = 64;  // Of a server, at most.
  static constexpr std::uint32_t kNobody = 0xffffffff;

  struct Span {
    Minute begin = 0;
    Minute end = 0;
    Holder holder;
  };
  // The span last asked for, or the gap between two.
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

  // A slot is a GPU of a server; its spans are first_span_[slot] up to first_span_[slot + 1].
  std::vector<std::size_t> first_slot_;  // Of each server, and the end.
  std::vector<std::size_t> first_span_;
  std::vector<Span> spans_;
  std::vector<Cursor> cursors_;
  std::vector<UseCell> cells_;
  std::int64_t unused_ = 0;
  std::int64_t conflicts_ = 0;
};

}  // namespace muster
