#pragma once

// Reads the attempts of a simulated run from leases.csv, for run_history.h.

#include <string>
#include <string_view>

#include "base/types/result.h"
#include "workload/history/history.h"

namespace muster {

// Fills in the attempts, hosts and servers of the history. `name` is used as the path in messages.
// REQUIRES: the history already has its jobs.
MaybeError add_leases(std::string_view text, const std::string& name, History& history);

}  // namespace muster
