#include "engine/core/rank.h"

#include <algorithm>

namespace muster {

int compare_values(const Rank& a, const Rank& b, Instant now) {
  const Wide left = (a.base + static_cast<Wide>(a.slope) * now.us()) * b.scale;
  const Wide right = (b.base + static_cast<Wide>(b.slope) * now.us()) * a.scale;
  return left < right ? -1 : left > right;
}

Instant overtaken_at(const Rank& a, const Rank& b, Instant now, bool level_counts) {
  if (a.level != b.level) return Instant::never();
  // a(t) > b(t)  <=>  t * gain > lead, over the common denominator.
  const Wide gain = static_cast<Wide>(a.slope) * b.scale - static_cast<Wide>(b.slope) * a.scale;
  if (gain <= 0) return Instant::never();
  const Wide lead = static_cast<Wide>(b.base) * a.scale - static_cast<Wide>(a.base) * b.scale;
  Wide whole = lead / gain;
  if (lead % gain != 0 && lead < 0) --whole;  // Rounds toward minus infinity.
  const bool exact = lead % gain == 0;
  const Wide at = exact && level_counts ? whole : whole + 1;
  if (at >= Instant::never().us()) return Instant::never();
  return std::max(Instant::micros(static_cast<std::int64_t>(at)), now + Duration::micros(1));
}

}  // namespace muster
