#pragma once

// Compares two runs of the same workload: which jobs, users and tenants would gain or lose. Used by
// `muster report` and by what-if on a manager's history.

#include <cstdint>
#include <string>
#include <vector>

#include "base/types/time.h"
#include "study/page/page.h"

namespace muster {

// A job that finished in both runs, with its completion times.
struct JobGain {
  std::string id, user, tenant;
  std::int32_t gpus = 0;
  Duration before, after;

  Duration gain() const { return before - after; }
};

// Smaller differences count as neither a gain nor a loss.
inline constexpr Duration kSmallestGain = Duration::seconds(1);

struct GainNames {
  std::string key;            // Suffix of the keys of the section and its tables.
  std::string before, after;  // Names of the runs, for display.
};

// Lists the numbers of gains and losses, the five largest of each, and the means of up to twenty
// users and tenants, largest change first.
Section gains_section(std::vector<JobGain> jobs, const GainNames& names);

}  // namespace muster
