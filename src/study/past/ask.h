#pragma once

// What if another scheduler had decided: a manager's own past, simulated under its own parts and
// under others, as `muster sim --from-live` and the dashboard ask it.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "base/types/result.h"
#include "sim/results/summary.h"
#include "sim/run/simulator.h"
#include "study/page/page.h"
#include "study/past/era.h"
#include "study/past/workload.h"

namespace muster {

struct WhatIfAsk {
  std::string policy, mechanism, placement;  // Empty: as the manager has it.
  std::optional<std::int64_t> since_unix_us;
};

inline constexpr std::size_t kMostWhatIfJobs = 20'000;

// Of the latest jobs. Refuses parts nobody knows, with the nearest, before anything is read.
// `go_on` is asked now and then; false ends it with an error.
Result<Page> ask_what_if(const std::string& database, const WhatIfAsk& ask,
                         const std::function<bool()>& go_on);

// ---- What it is put together from.

RunLabel label_of(const LiveHistory& history);
// What jobs said of themselves is not part of the past as a workload.
EstimateSource estimates_of(const RosterSettings& settings);
// The manager's own scheduler; what is not its settings' is as given. Points to their tenants.
SimOptions own_options(const RosterSettings& settings, SimOptions common);

// What was decided, counted as a simulation counts.
void add_counts(const Era& era, SimResult& happened);
// What the comparison cannot know, and what it takes a stop and a start to cost.
void add_what_if_notes(const Era& era, const Overheads& costs, std::vector<std::string>& notes);
// Only what is otherwise than the manager has it; empty if nothing is.
std::string short_name(const SimOptions& options, const SchedulerParts& ours);

}  // namespace muster
