#pragma once

// Replays a trace through the engine in simulated time. The simulator owns what no scheduler may
// know (the actual run time of each job), advances the clock and executes the engine's orders.

#include <cstdint>
#include <functional>
#include <optional>

#include "engine/core/engine.h"
#include "engine/core/estimator.h"
#include "engine/failure/retry.h"
#include "engine/model/profile.h"
#include "engine/model/tenants.h"
#include "engine/model/topology.h"
#include "engine/scheduler/scheduler.h"
#include "sim/compat/compat.h"
#include "sim/run/failure_schedule.h"
#include "sim/run/result.h"
#include "workload/trace/trace.h"

namespace muster {

// Times during which a job holds its GPUs without making progress.
struct Overheads {
  Duration checkpoint = Duration::seconds(10);  // To save, after an order to stop.
  Duration restart = Duration::seconds(20);     // To load, before it runs again.
  Duration migration = Duration::seconds(10);   // In addition to both, if it moves to other GPUs.
  Duration suspend = Duration::seconds(1);      // Per time slice on shared GPUs, to switch over.
};
constexpr Overheads no_overheads() { return {Duration(), Duration(), Duration(), Duration()}; }

// The number of GPUs that every job can get. Requests outside of the range extend it.
struct ElasticRange {
  std::int32_t fewest = 1;
  std::int32_t most = 1;
};

struct SimOptions {
  std::string scheduler;  // Name of the preset, for display; may be empty.
  SchedulerParts parts;
  PolicyOptions policy;
  // A whole scheduler instead of composed parts. Its tenants, pairs and min_run are set from the
  // fields below.
  WholeScheduler whole;
  // Speeds of two jobs on one GPU; null: unknown. Must outlive the run.
  const PairTable* pairs = nullptr;
  std::optional<ElasticRange>
      elastic;                 // Empty: only jobs that are elastic in the trace are elastic.
  double report_noise = 0.05;  // Relative error of the jobs' reports.
  EstimateSource estimates;
  Duration round;  // Zero: plan at every event.
  Compat compat = Compat::kNone;
  Overheads overheads;  // Ignored (none) with CompatTraits::ideal_machine.
  bool spread = false;  // Gangs on several nodes are slower, more so next to other jobs.
  // The tenants, including all tenants of the trace (check_tenants); null: no quotas. Must outlive
  // the run.
  const TenantTree* tenants = nullptr;
  // Minimum run time before a job can be preempted. Ignored with CompatTraits::ideal_machine.
  Duration min_run;
  Duration quantum = EngineOptions().quantum;
  Duration checkpoint_interval = Duration::seconds(300);  // How often running jobs save.
  FailureOptions failures;                    // Ignored (none) with CompatTraits::ideal_machine.
  RetryPolicy retry = RetryPolicy::fixed(3);  // How failed jobs are handled.
  std::uint64_t seed = 1;
  bool history = false;           // Record spans and timeline.
  bool plan_idle_rounds = false;  // See EngineOptions.
  bool check_invariants = false;  // Check after every step; slow, for tests.
  // Replaces the mechanism named in `parts`, to try one that is not in the table.
  std::function<Owned<Mechanism>()> mechanism;
  // Called occasionally with the number of ended and of all jobs. Returning false ends the run, and
  // the result is marked as partial.
  std::function<bool(std::size_t done, std::size_t total)> progress;
};

// Returns an error for the first job whose tenant is not in the tree.
MaybeError check_tenants(const Trace& trace, const TenantTree& tenants);

// Returns an error if the policy may swap jobs at every tick and a swap takes at least a tick: the
// jobs would make no progress, and the run would never end.
MaybeError check_swaps(const SimOptions& options);

// REQUIRES: the parts satisfy check_parts(), and the trace is in order of arrival.
SimResult simulate(const Trace& trace, const Topology& topology, const ProfileTable& profiles,
                   const SimOptions& options);

}  // namespace muster
