#pragma once

// The number of random cases of a test. MUSTER_LONG=1 (./test --long) means many; MUSTER_SHORT=1
// (tests under sanitizers in ./test) means a tenth of the usual number.

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace muster {

// A test whose result needs all cases, such as a statistic, skips itself in a short campaign.
inline bool is_short_campaign() { return std::getenv("MUSTER_SHORT") != nullptr; }

inline std::uint64_t campaign_size(std::uint64_t usual, std::uint64_t many) {
  if (std::getenv("MUSTER_LONG") != nullptr) return many;
  if (is_short_campaign()) return std::max<std::uint64_t>(1, usual / 10);
  return usual;
}

// Returns the minimum number of occurrences of an event in a campaign of the usual size or more. In
// a short campaign rare events may be much rarer, so one occurrence is sufficient.
template <class Count>
Count campaign_floor(Count usual) {
  return is_short_campaign() ? usual / 100 : usual;
}

}  // namespace muster
