#pragma once

// Why a waiting job does not run, and what would make it run. The constraint that binds is what
// stops it even if it were first in line, found by lifting one after the other on copies of the
// engine; or, if being first is enough, the order. Every way out is tried on a copy before it is
// named. Numbers and ids only; what people read is made from them by live/query/explain.h.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/types/time.h"
#include "engine/core/engine.h"
#include "engine/core/free_gpus.h"
#include "sim/forecast/drive.h"
#include "sim/forecast/rebuilt.h"

namespace muster {

enum class Constraint : std::uint8_t {
  kNone,         // It starts as soon as the engine plans again.
  kNextPlan,     // The same, but that is at a set time: a round, a tick.
  kBackOff,      // It failed, and is tried again at a set time.
  kReservation,  // It would fit, but delay a job that stands before it.
  kOrder,        // Others are before it.
  kServers,      // Servers are closed.
  kOthers,       // Strangers hold a part of the servers.
  kQuota,        // Its tenant has its part.
  kMemory,       // GPUs are free, but not the memory it asks for, or its share, beside them;
  kCpus,         // or not the CPUs.
  kPlaces,       // Enough GPUs are free, but not where it could use them.
  kGpus,         // Too few are free.
};
std::string_view constraint_name(Constraint constraint);  // "order", "quota"...

// How a job that is tried out comes to run.
struct Begun {
  Instant at;
  std::vector<JobId> stops;  // Who would be stopped for it.
};

struct WayOut {
  enum class Kind : std::uint8_t {
    kFewerGpus,       // Submitted anew with `gpus`, it starts.
    kLessMemory,      // Submitted anew asking for `amount` MiB in all,
    kFewerCpus,       // for `amount` thousandths of a CPU,
    kWiderSpread,     // for `amount` servers at most,
    kHigherPriority,  // with priority `amount`: its user's own jobs come first.
    kOtherTenant,     // Submitted anew for `tenant`.
    kShorter,         // Submitted anew with `estimate`, in time at the fair share of these servers.
    kAfterEnds,       // When `jobs` have ended, about `when`.
    kMove,  // When the one of `jobs` is held, and released once this one runs. Costs about
            // `gpu_time`.
  };
  Kind kind = Kind::kFewerGpus;
  std::int32_t gpus = 0;
  std::int64_t amount = 0;
  TenantId tenant;
  Duration estimate;
  std::vector<JobId> jobs;
  Begun begun;  // Of what is submitted anew.
  Instant when;
  Duration gpu_time;
};

struct Holder {
  JobId job;
  std::int32_t gpus = 0;
  Instant until;  // Believed.
};

struct Why {
  Constraint constraint = Constraint::kNone;
  Instant until;  // Of kNextPlan and kBackOff.
  std::int32_t needs = 0;
  FreeGpus gpus;                    // Of its type, as the job sees them.
  std::int64_t most_mem_mib = 0;    // Free on one server that has a GPU free,
  std::int64_t most_cpu_milli = 0;  // and of CPU.
  std::size_t ahead = 0;            // Jobs before it in line that will start before it,
  std::int64_t ahead_gpus = 0;      // and what they want.
  std::optional<JobId> first;       // The next of them.
  std::size_t passing = 0;          // Jobs behind it that will too: they fit where it does not.
  std::vector<Holder> holders;      // Whose end it waits for, the soonest first; a few.
  std::vector<WayOut> ways;         // The soonest and cheapest first.
};

struct WhyOptions {
  DriveCosts costs;
  // Work left, by JobId; empty: as the engine believes.
  std::vector<Duration> left;
  std::vector<TenantId> tenants;  // For whom else its user may submit.
};

// `job` waits or is parked. The engine was made by `rules`.
Why explain(const Engine& engine, Instant now, JobId job, const Rules& rules,
            const WhyOptions& options = {});

// All of it again, first in line: what constraints are lifted from.
std::vector<Event> put_first(const Engine& engine, Instant now, JobId job);

// Whether it would run if this happened: the next plan gives it GPUs. `job` may be one that the
// events submit. `begun`: how, if it would.
bool runs_after(const Engine& engine, Instant now, std::span<const Event> events, JobId job,
                Begun* begun = nullptr);

}  // namespace muster
