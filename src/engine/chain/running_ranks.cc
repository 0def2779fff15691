#include "engine/chain/running_ranks.h"

#include <algorithm>

namespace muster {

bool RunningRanks::drop(JobId job) {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [job](const RankedJob& entry) { return entry.job == job; });
  if (found == entries_.end()) return false;
  entries_.erase(found);
  return true;
}

void RunningRanks::move_forward(std::size_t at, Instant now) {
  const auto here = entries_.begin() + static_cast<std::ptrdiff_t>(at);
  const RankedJob entry = *here;
  const auto place = std::upper_bound(
      entries_.begin(), here, entry,
      [now](const RankedJob& a, const RankedJob& b) { return goes_before(a, b, now); });
  std::move_backward(place, here, here + 1);
  *place = entry;
}

}  // namespace muster
