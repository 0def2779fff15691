#pragma once

// A job's place in a policy's order: its level, and within it a fraction that may move linearly
// with time: (base + slope * t) / scale, smaller first. Exact integer comparison, so that the order
// never depends on rounding; the caller breaks ties by JobId.

#include <cstdint>

#include "base/types/id.h"
#include "base/types/time.h"

namespace muster {

// Products of two 64-bit numbers; a compiler extension that both our compilers have.
__extension__ typedef __int128 Wide;

struct Rank {
  std::int64_t base = 0;
  std::int32_t slope = 0;  // Per microsecond: -1, 0 or 1.
  std::int64_t scale = 1;  // Positive.
  std::int64_t tie = 0;    // Decides between equal values, smaller first.
  std::int32_t level = 0;  // Decides before all else, smaller first.

  bool moves() const { return slope != 0; }
};

// Negative, zero or positive as `a` stands before, level with or behind `b` at `now`.
inline int compare(const Rank& a, const Rank& b, Instant now) {
  if (a.level != b.level) return a.level < b.level ? -1 : 1;
  const int tie = a.tie < b.tie ? -1 : a.tie > b.tie;
  if (a.scale == b.scale && a.slope == b.slope) {
    return a.base < b.base ? -1 : a.base > b.base ? 1 : tie;
  }
  const Wide left = (a.base + static_cast<Wide>(a.slope) * now.us()) * b.scale;
  const Wide right = (b.base + static_cast<Wide>(b.slope) * now.us()) * a.scale;
  return left < right ? -1 : left > right ? 1 : tie;
}

// A job and where it stands.
struct RankedJob {
  JobId job;
  Rank rank;
};

// The order of jobs, total: by rank, then the older job.
inline bool goes_before(const RankedJob& a, const RankedJob& b, Instant now) {
  const int order = compare(a.rank, b.rank, now);
  return order != 0 ? order < 0 : a.job < b.job;
}

// The first instant after `now` at which `b` overtakes `a`, given that `a` is ahead at `now`;
// never() if it does not. With `level_counts`, drawing level is overtaking (b has the lower tie, or
// the lower id).
Instant overtaken_at(const Rank& a, const Rank& b, Instant now, bool level_counts);

}  // namespace muster
