#pragma once

// Driver 1: replays a trace through the engine. It owns what no scheduler may know (how long each
// job really runs), moves the clock from event to event, and carries out what the engine orders.

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
#include "sim/run/result.h"
#include "sim/run/troubles.h"
#include "workload/trace/trace.h"

namespace muster {

// Whose simulator to imitate, quirks included, so that results can be compared digit by digit.
enum class Compat : std::uint8_t {
  kNone,      // The more faithful behaviour.
  kTiresias,  // Preemption costs nothing.
  kSynergy,  // Placements rebuilt every round, whole iterations credited a round, jobs end at round
             // ends, one speed-up number a model; and preemption costs nothing.
};

// Time a job holds its GPUs without making progress.
struct Overheads {
  Duration checkpoint = Duration::seconds(10);  // To save, when told to stop.
  Duration restart = Duration::seconds(20);     // To load, when it runs again.
  Duration migration = Duration::seconds(10);   // On top of both, when it moves to other GPUs.
  Duration suspend = Duration::seconds(1);      // Of each turn on shared GPUs, to switch over.
};
constexpr Overheads no_overheads() { return {Duration(), Duration(), Duration(), Duration()}; }

// Every job may be given so many GPUs, or what it asked for if that is beyond.
struct ElasticRange {
  std::int32_t fewest = 1;
  std::int32_t most = 1;
};

struct SimOptions {
  std::string scheduler;  // The preset it comes from, for people; may be empty.
  SchedulerParts parts;
  PolicyOptions policy;
  // A whole scheduler instead of a chain of parts; its tenants, pairs and min_run are those given
  // here.
  WholeScheduler whole;
  // How fast two jobs run on one GPU; null: nobody knows. Must outlive the run.
  const PairTable* pairs = nullptr;
  std::optional<ElasticRange> elastic;  // Empty: only jobs whose trace says so are elastic.
  double report_noise = 0.05;           // Of what jobs say of themselves.
  EstimateSource estimates;
  Duration round;  // Zero: plan at every event.
  Compat compat = Compat::kNone;
  Overheads overheads;  // Ignored (none) with compat.
  bool spread = false;  // Gangs over several servers are slower, the more so beside others.
  // Who shares the cluster, with every tenant the trace names (check_tenants); null: nobody has a
  // quota. Must outlive the run.
  const TenantTree* tenants = nullptr;
  // A job is not stopped for another before it has held its GPUs this long. Ignored with compat.
  Duration min_run;
  Duration quantum = EngineOptions().quantum;
  Duration checkpoint_interval = Duration::seconds(300);  // How often a running job saves its work.
  FailureOptions failures;                                // Ignored (none) with compat.
  RetryPolicy retry = RetryPolicy::fixed(3);              // What becomes of a job that failed.
  std::uint64_t seed = 1;
  bool history = false;           // Keep spans and timeline.
  bool plan_idle_rounds = false;  // See EngineOptions.
  bool check_invariants = false;  // After every step; slow, for tests.
  // Instead of the mechanism named in `parts`: for trying one that is not in the table.
  std::function<Owned<Mechanism>()> mechanism;
  // Called now and then with jobs ended and jobs in all; returning false ends the run there, and
  // the result is marked partial.
  std::function<bool(std::size_t done, std::size_t total)> progress;
};

// Refuses a job of a tenant that the tree has not.
Refusal check_tenants(const Trace& trace, const TenantTree& tenants);

// Refuses a policy that swaps jobs at every tick, where that takes as long as a tick: they would
// never get on, and the run never end.
Refusal check_swaps(const SimOptions& options);

// The parts must satisfy check_parts(). The trace is in order of arrival.
SimResult simulate(const Trace& trace, const Topology& topology, const ProfileTable& profiles,
                   const SimOptions& options);

}  // namespace muster
