#include "workload/history/held_index.h"

#include <algorithm>
#include <bit>
#include <compare>
#include <limits>
#include <map>
#include <numeric>
#include <span>

namespace muster {

namespace {

constexpr std::int64_t kMinute = 60'000'000;  // Microseconds.

Minute floor_minute(Instant time) { return static_cast<Minute>(time.us() / kMinute); }
Minute ceil_minute(Instant time) {
  return static_cast<Minute>((time.us() + kMinute - 1) / kMinute);
}

bool has_times(const Attempt& attempt) {
  return attempt.start != Instant::never() && attempt.end != Instant::never();
}

struct CellKey {
  std::int32_t gpus = 0;
  std::int32_t nodes = 0;
  Status status = Status::kUnknown;
  bool dedicated = false;
  friend auto operator<=>(const CellKey&, const CellKey&) = default;
};

// Numbers the kinds of attempts in order of appearance. cells() then sorts them.
class CellNumbers {
 public:
  std::uint32_t number(const CellKey& key) {
    return numbers_.emplace(key, static_cast<std::uint32_t>(numbers_.size())).first->second;
  }

  // Returns the sorted cells. Sets `places` to the index in them of each number.
  std::vector<UseCell> cells(std::vector<std::uint32_t>& places) const {
    std::vector<UseCell> cells;
    places.resize(numbers_.size());
    for (const auto& [key, number] : numbers_) {
      places[number] = static_cast<std::uint32_t>(cells.size());
      cells.push_back(UseCell{key.gpus, key.nodes, key.status, key.dedicated, {}});
    }
    return cells;
  }

 private:
  std::map<CellKey, std::uint32_t> numbers_;
};

// Calls use(slot) for each GPU of the attempt.
template <class Use>
void for_each_slot(const History& history, const Attempt& attempt,
                   const std::vector<std::size_t>& first_slot, Use use) {
  for (const HostShare& share : history.hosts_of(attempt)) {
    for (std::uint64_t gpus = share.gpus; gpus != 0; gpus &= gpus - 1) {
      use(first_slot[share.node] + static_cast<std::size_t>(std::countr_zero(gpus)));
    }
  }
}

}  // namespace

bool has_all_gpus(const History& history, const Attempt& attempt) {
  const auto all = [&](const HostShare& share) {
    return std::popcount(share.gpus) >= history.nodes[share.node].gpus;
  };
  const std::span<const HostShare> shares = history.hosts_of(attempt);
  return !shares.empty() && std::all_of(shares.begin(), shares.end(), all);
}

HeldIndex::HeldIndex(const History& history) {
  number_slots(history);
  number_spans(history);
  fill(history);
  put_in_order();
}

void HeldIndex::number_slots(const History& history) {
  std::vector<std::size_t> gpus(history.nodes.size(), 0);
  for (const HostShare& share : history.hosts) {
    const auto highest = static_cast<std::size_t>(std::bit_width(share.gpus));
    gpus[share.node] = std::max(gpus[share.node], highest);
  }
  first_slot_.push_back(0);
  for (const std::size_t count : gpus) first_slot_.push_back(first_slot_.back() + count);
  cursors_.resize(first_slot_.back());
}

void HeldIndex::number_spans(const History& history) {
  first_span_.assign(first_slot_.back() + 1, 0);
  for (const Attempt& attempt : history.attempts) {
    if (!has_times(attempt)) {
      ++unused_;
      continue;
    }
    for_each_slot(history, attempt, first_slot_,
                  [&](std::size_t slot) { ++first_span_[slot + 1]; });
  }
  std::partial_sum(first_span_.begin(), first_span_.end(), first_span_.begin());
  spans_.resize(first_span_.back());
}

void HeldIndex::fill(const History& history) {
  CellNumbers numbers;
  std::vector<std::size_t> next = first_span_;
  for (std::size_t i = 0; i < history.jobs.size(); ++i) {
    const PastJob& job = history.jobs[i];
    for (const Attempt& attempt : history.attempts_of(job)) {
      if (!has_times(attempt) || attempt.host_count == 0) continue;
      const std::uint32_t cell =
          numbers.number({job.gpus, static_cast<std::int32_t>(attempt.host_count), job.status,
                          has_all_gpus(history, attempt)});
      const Span span = {floor_minute(attempt.start), ceil_minute(attempt.end),
                         Holder{static_cast<std::uint32_t>(i), cell}};
      for_each_slot(history, attempt, first_slot_,
                    [&](std::size_t slot) { spans_[next[slot]++] = span; });
    }
  }
  std::vector<std::uint32_t> places;
  cells_ = numbers.cells(places);
  for (Span& span : spans_) span.holder.cell = places[span.holder.cell];
}

void HeldIndex::put_in_order() {
  for (std::size_t slot = 0; slot + 1 < first_span_.size(); ++slot) {
    const std::span<Span> held(spans_.data() + first_span_[slot],
                               first_span_[slot + 1] - first_span_[slot]);
    std::stable_sort(held.begin(), held.end(),
                     [](const Span& a, const Span& b) { return a.begin < b.begin; });
    for (std::size_t i = 0; i + 1 < held.size(); ++i) {
      if (held[i].end - held[i + 1].begin > 1) ++conflicts_;
      held[i].end = std::min(held[i].end, held[i + 1].begin);
    }
  }
}

void HeldIndex::move(Cursor& cursor, std::size_t slot, Minute minute) const {
  const auto begin = spans_.begin() + static_cast<std::ptrdiff_t>(first_span_[slot]);
  const auto end = spans_.begin() + static_cast<std::ptrdiff_t>(first_span_[slot + 1]);
  const auto after = std::upper_bound(
      begin, end, minute, [](Minute wanted, const Span& span) { return wanted < span.begin; });
  cursor.span = kNobody;
  cursor.begin = std::numeric_limits<Minute>::min();
  cursor.end = after == end ? std::numeric_limits<Minute>::max() : after->begin;
  if (after == begin) return;
  const auto before = after - 1;
  if (minute < before->end) {
    cursor.span = static_cast<std::uint32_t>(before - spans_.begin());
    cursor.begin = before->begin;
    cursor.end = before->end;
  } else {
    cursor.begin = before->end;
  }
}

}  // namespace muster
