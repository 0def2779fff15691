#pragma once

// The attempts of a simulated run: leases.csv, for run_history.h.

#include <string>
#include <string_view>

#include "base/types/result.h"
#include "workload/history/history.h"

namespace muster {

// Fills in attempts, hosts and servers of a history that has its jobs. `name` stands for the path.
Refusal add_leases(std::string_view text, const std::string& name, History& history);

}  // namespace muster
