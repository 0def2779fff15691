#pragma once

// The option --compat: Muster imitates a published simulator, including its quirks, so that results
// can be compared exactly. This folder contains everything that differs; the engine has no setting
// for it.

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "base/types/time.h"
#include "engine/model/profile.h"
#include "engine/scheduler/scheduler.h"
#include "workload/trace/trace.h"

namespace muster {

enum class Compat : std::uint8_t {
  kNone,
  kTiresias,  // github.com/SymbioticLab/Tiresias
  kSynergy,   // github.com/msr-fiddle/synergy
};

// How a simulation with this setting differs from others.
struct CompatTraits {
  std::string_view name;       // Value of --compat.
  std::string_view placement;  // Default of --placement.
  Duration round;              // Default of --round; zero: plan at every event.
  // Stops, starts and moves cost nothing, nothing fails, and min_run has no effect.
  bool ideal_machine = false;
  // Jobs progress by whole iterations, which count at the end of a round.
  bool whole_iterations = false;
  // Percentiles are interpolated as numpy does, and the makespan counts from time zero.
  bool numpy_statistics = false;
  // A round without events also changes the plan.
  bool plans_idle_rounds = false;
};

const CompatTraits& traits_of(Compat compat);

// Returns kNone for an empty name. Fails for an unknown name, with a suggestion.
Result<Compat> parse_compat(std::string_view name);

// Returns the profiles as the simulator models them.
ProfileTable compat_profiles(const ProfileTable& profiles, Compat compat);

// Returns when the first round starts. `round` is the length of a round.
Instant first_round(const Trace& trace, Duration round, Compat compat);

// As make_planner(), with the rules of the simulator. Schedulers that are not composed are not
// changed.
MadePlanner make_compat_planner(const Cluster& cluster, const PlannerOptions& options,
                                Compat compat);

// Returns the p-th percentile as numpy computes it: linear between the two nearest values.
// REQUIRES: `sorted` is ascending and not empty, and p is at most 100.
std::int64_t numpy_percentile(const std::vector<std::int64_t>& sorted, std::size_t p);

}  // namespace muster
