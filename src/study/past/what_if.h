#pragma once

// What-if analysis: a manager's history, simulated under its own scheduler and under another one.
// `muster sim --from-live` and the dashboard use it.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "base/types/result.h"
#include "sim/results/summary.h"
#include "sim/run/simulator.h"
#include "study/page/page.h"
#include "study/past/era.h"
#include "study/past/past_workload.h"

namespace muster {

struct WhatIfAsk {
  std::string policy, mechanism, placement;  // Empty: the manager's setting.
  std::optional<std::int64_t> since_unix_us;
};

inline constexpr std::size_t kMaxWhatIfJobs = 20'000;

// Analyzes the latest jobs. Rejects unknown parts, with a suggestion, before it reads the database.
// `go_on` is called occasionally; false ends the analysis with an error.
Result<Page> ask_what_if(const std::string& database, const WhatIfAsk& ask,
                         const std::function<bool()>& go_on);

// Building blocks.

RunLabel label_of(const LiveHistory& history);
// Estimates from progress reports become estimates from history, because the workload lacks
// reports.
EstimateSource estimates_of(const RosterSettings& settings);
// The manager's own scheduler. Other options come from `common`. The result points into `settings`.
SimOptions own_options(const RosterSettings& settings, SimOptions common);

// Sets the counters of `happened` from the era's decisions.
void add_counts(const Era& era, SimResult& happened);
// Adds notes on the limits of the comparison, and on the assumed costs of a stop and a start.
void add_what_if_notes(const Era& era, const Overheads& costs, std::vector<std::string>& notes);
// Names only the parts that differ from the manager's; empty if none do.
std::string short_name(const SimOptions& options, const SchedulerParts& ours);

}  // namespace muster
