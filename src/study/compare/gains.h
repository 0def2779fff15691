#pragma once

// Who would gain and who would lose if one run took the place of another of the same workload: job
// by job, and by user and tenant. For `muster report` and for what-if on a manager's own history.

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

// Less is neither a gain nor a loss.
inline constexpr Duration kSmallestGain = Duration::seconds(1);

struct GainNames {
  std::string key;            // Ends the keys of the section and its tables.
  std::string before, after;  // The runs, for people.
};

// How many gain and lose, the five jobs that gain most and the five that lose most, and the means
// of users and tenants, those whose jobs' times change most first, twenty at most.
Section gains_section(std::vector<JobGain> jobs, const GainNames& names);

}  // namespace muster
