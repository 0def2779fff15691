#pragma once

// Finds the failed attempts that a blacklist of inputs would have avoided: users and job names
// whose jobs fail repeatedly by their own fault; see InputBlame. failure_costs.cc uses it.

#include <cstddef>
#include <limits>
#include <vector>

#include "study/analyze/study_input.h"

namespace muster {

inline constexpr std::size_t kNoStop = std::numeric_limits<std::size_t>::max();

// Returns for each job of the history the index of the failed attempt at which a blacklist stops
// its retries, or kNoStop. The input of a job is blamed as in the engine with adaptive retry. Only
// failures that can be a fault of the job are stopped: no preemptions, no faults of nodes or
// storage. Returns an empty vector if the history does not say which failures belong to one input:
// jobs without a name and attempts without a reason or end do not count.
std::vector<std::size_t> blacklist_stops(const StudyInput& asked);

}  // namespace muster
