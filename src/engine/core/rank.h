#pragma once

// The rank of a job in the order of a policy: a level, and within it a value that may change
// linearly with time: (base + slope * t) / scale. Smaller is first. Comparisons use exact integers,
// so the order never depends on rounding. The caller breaks ties by JobId.

#include <cstdint>

#include "base/types/id.h"
#include "base/types/time.h"

namespace muster {

// Holds the product of two 64-bit numbers. A compiler extension that GCC and Clang both have.
__extension__ typedef __int128 Wide;

struct Rank {
  std::int64_t base = 0;
  std::int32_t slope = 0;  // Per microsecond: -1, 0 or 1.
  std::int64_t scale = 1;  // Positive.
  std::int64_t tie = 0;    // Compared if the values are equal; smaller is first.
  std::int32_t level = 0;  // Compared before everything else; smaller is first.

  bool moves() const { return slope != 0; }
};

// The part of compare() for ranks of different slope or scale: -1, 0 or 1. It is not inline,
// because it is rare and long.
int compare_values(const Rank& a, const Rank& b, Instant now);

// Returns a negative value, zero or a positive value if `a` is before, equal to or after `b` at
// `now`.
inline int compare(const Rank& a, const Rank& b, Instant now) {
  if (a.level != b.level) return a.level < b.level ? -1 : 1;
  if (a.scale == b.scale && a.slope == b.slope) {
    if (a.base != b.base) return a.base < b.base ? -1 : 1;
  } else if (const int order = compare_values(a, b, now); order != 0) {
    return order;
  }
  return a.tie < b.tie ? -1 : a.tie > b.tie;
}

// Returns the rank at `now` without its dependence on time.
inline Rank rank_at(Rank rank, Instant now) {
  rank.base += rank.slope * now.us();
  rank.slope = 0;
  return rank;
}

// A job and its rank.
struct RankedJob {
  JobId job;
  Rank rank;
};

// The total order of jobs: by rank, then the older job (lower id).
inline bool goes_before(const RankedJob& a, const RankedJob& b, Instant now) {
  const int order = compare(a.rank, b.rank, now);
  return order != 0 ? order < 0 : a.job < b.job;
}

// Returns the first instant after `now` at which `b` overtakes `a`, or never(). If `level_counts`,
// an equal value is enough, because `b` has the lower tie or id. REQUIRES: `a` is before `b` at
// `now`.
Instant overtaken_at(const Rank& a, const Rank& b, Instant now, bool level_counts);

}  // namespace muster
