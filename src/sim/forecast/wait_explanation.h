#pragma once

// Explains why a waiting job does not run, and what would start it. If the job would run at the
// head of the queue, the cause is kOrder or kReservation. Otherwise explain() lifts one constraint
// after another on copies of the engine. Each option is tried on a copy before it is listed.
// live/query/explanation.h turns the result into text, on a worker thread.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/types/time.h"
#include "engine/core/engine.h"
#include "engine/core/free_gpus.h"
#include "sim/forecast/lookahead.h"
#include "sim/forecast/replanned_engine.h"

namespace muster {

enum class Constraint : std::uint8_t {
  kNone,         // The job starts as soon as the engine plans again.
  kNextPlan,     // The same, but the next plan is at a fixed time: a round or a tick.
  kBackOff,      // The job failed and is retried at a fixed time.
  kReservation,  // The job fits, but would delay a job ahead of it.
  kOrder,        // Other jobs are ahead of it.
  kNodes,        // Nodes are unschedulable.
  kOthers,       // External jobs use part of the nodes.
  kQuota,        // The tenant has used its entitlement.
  kMemory,       // GPUs are free, but not enough memory for them.
  kCpus,         // GPUs are free, but not enough CPUs for them.
  kPlaces,       // Enough GPUs are free, but not where the job can use them.
  kGpus,         // Too few GPUs are free.
};
std::string_view constraint_name(Constraint constraint);  // "order", "quota", ...

// How a job starts in a trial.
struct Begun {
  Instant at;
  std::vector<JobId> stops;  // Jobs that would be stopped for it.
};

struct StartOption {
  enum class Kind : std::uint8_t {
    kFewerGpus,       // Resubmit with `gpus`.
    kLessMemory,      // Resubmit with `amount` MiB in total.
    kFewerCpus,       // Resubmit with `amount` thousandths of a CPU.
    kWiderSpread,     // Resubmit with at most `amount` nodes.
    kHigherPriority,  // Resubmit with priority `amount`, before the user's other jobs.
    kOtherTenant,     // Resubmit under `tenant`.
    kShorter,         // Resubmit with `estimate`, in time at the fair share of these nodes.
    kAfterEnds,       // Wait until `jobs` have ended, at about `when`.
    kMove,  // Hold the one job in `jobs`, and release it once this one runs. Costs `gpu_time`.
  };
  Kind kind = Kind::kFewerGpus;
  std::int32_t gpus = 0;
  std::int64_t amount = 0;
  TenantId tenant;
  Duration estimate;
  std::vector<JobId> jobs;
  Begun begun;  // How the resubmitted job starts.
  Instant when;
  Duration gpu_time;
};

struct Holder {
  JobId job;
  std::int32_t gpus = 0;
  Instant until;  // Estimated.
};

struct Why {
  Constraint constraint = Constraint::kNone;
  Instant until;  // For kNextPlan and kBackOff.
  std::int32_t needs = 0;
  FreeGpus gpus;                    // GPUs of its type, as seen by the job.
  std::int64_t most_mem_mib = 0;    // Maximum free memory on a node with a free GPU,
  std::int64_t most_cpu_milli = 0;  // and maximum free CPU on such a node.
  std::size_t ahead = 0;            // Jobs before it in the queue that will start before it,
  std::int64_t ahead_gpus = 0;      // and the GPUs they request.
  std::optional<JobId> first;       // The next of these jobs.
  std::size_t passing = 0;        // Jobs behind it that start earlier: they fit where it does not.
  std::vector<Holder> holders;    // Jobs whose end it waits for, soonest first; a few.
  std::vector<StartOption> ways;  // Soonest and cheapest first.
};

struct WhyOptions {
  LookaheadCosts costs;
  // Work left, indexed by JobId. Empty: the engine's estimates.
  std::vector<Duration> left;
  std::vector<TenantId> tenants;  // Tenants that the user may submit under.
};

// REQUIRES: `job` is waiting or in back-off, and `rules` are the rules of `engine`. Cost: many
// engine copies and plans.
Why explain(const Engine& engine, Instant now, JobId job, const SchedulingRules& rules,
            const WhyOptions& options = {});

// Returns the events that resubmit the job with its history at the head of the queue.
std::vector<Event> put_first(const Engine& engine, Instant now, JobId job);

// Returns true if the next plan after these events gives the job GPUs. `job` may be a job that the
// events submit. If it starts, `begun` describes how.
bool runs_after(const Engine& engine, Instant now, std::span<const Event> events, JobId job,
                Begun* begun = nullptr);

}  // namespace muster
