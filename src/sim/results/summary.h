#pragma once

// The key numbers of a run. The CLI creates one Summary per run and passes it, with the RunLabel,
// to summary_json.h, run_tables.h and result_files.h.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/types/time.h"
#include "engine/model/tenants.h"
#include "engine/model/topology.h"
#include "sim/results/waiting_summary.h"
#include "sim/run/result.h"

namespace muster {

// Jobs [first, last) in order of arrival. Excludes the filling and draining of a cluster.
struct Window {
  std::size_t first = 0;
  std::size_t last = 0;
};

// Mean and percentiles, rounded to the nearest microsecond (halves up). Percentile p of n sorted
// values is the value at index floor(p * n); p50 is the median (the mean of the middle two). All
// are zero if there are no values.
struct Spread {
  Duration mean, p50, p95, p99;
};

// Computed in whole microseconds, so the same result gives the same Summary on every machine.
struct Summary {
  // These cover the window, or all jobs without a window. JCT and waiting are of finished jobs.
  std::optional<Window> window;  // As requested, limited to the existing jobs.
  std::uint64_t jobs = 0;        // Sum of the five counts below.
  std::uint64_t finished = 0;
  std::uint64_t killed = 0;
  std::uint64_t failed = 0;
  std::uint64_t rejected = 0;
  std::uint64_t unfinished = 0;
  std::string first_rejection;  // Why the first rejected job can never run. Untrusted text.
  Spread jct;                   // From submit to end.
  Spread wait;                  // The part of the JCT without GPUs.
  WaitingSummary waiting;       // The causes of waiting.

  // These cover the whole run, regardless of the window.
  Duration makespan;  // From first submit to last end of the finished jobs.
  std::uint64_t preemptions = 0;
  std::uint64_t migrations = 0;
  Duration gpu_time;  // GPU time held by leases: one hour on 8 GPUs is 8 hours.
  // gpu_time / (GPUs x makespan). If jobs that ran are unfinished, the makespan is extended to
  // cover their known run time, so that an interrupted run does not show too much.
  double gpu_utilization = 0;
  std::int64_t gpus = 0;  // GPUs of the cluster.
  std::uint64_t events = 0;
  std::uint64_t decisions = 0;
  std::uint64_t rounds = 0;
  FailureLedger failures;
  std::string digest;    // 16 hexadecimal digits.
  bool partial = false;  // The run was interrupted.

  Duration wall;  // Wall time of the computation. Set by the caller.
};

// The settings of a run, as the user gave them. All of it is written to summary.json.
struct RunLabel {
  std::string policy;
  std::string mechanism;
  std::string placement;
  std::string estimates;  // Source of run-time estimates: "user", "history", "oracle", ...
  std::string trace;
  std::string cluster;
  std::string compat;  // The imitated simulator; empty: none.
  Duration round;      // Zero: plan at every event.
  std::uint64_t seed = 0;
  std::string retry;                    // How failed jobs are handled; empty: no failures.
  std::string tenants;                  // The tenants of the cluster; empty: no quotas.
  std::string scheduler;                // The preset of the parts; empty: parts chosen separately.
  std::string command;                  // Shell command of the run; empty: unknown.
  std::vector<TenantSpec> quotas = {};  // Machine-readable quotas of the tenants.
};

// Returns the entitlement of each tenant, for RunLabel::quotas.
std::vector<TenantSpec> quotas_of(const TenantTree& tenants);

struct RunRow {
  RunLabel label;
  Summary summary;
};

Summary summarize(const SimResult& result, const Topology& topology,
                  std::optional<Window> window = std::nullopt);

}  // namespace muster
