#pragma once

// A run in a handful of numbers. The CLI makes one Summary a run and hands it, with the label of
// what was run, to json.h, table.h and files.h.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/types/time.h"
#include "engine/model/tenants.h"
#include "engine/model/topology.h"
#include "sim/results/waiting.h"
#include "sim/run/result.h"

namespace muster {

// Jobs [first, last) in order of arrival, to leave out the filling and draining of a cluster.
struct Window {
  std::size_t first = 0;
  std::size_t last = 0;
};

// Mean and percentiles, each to the nearest microsecond (halves up). Percentile p of n values
// sorted is the value at index floor(p * n), except that p50 is the median (the mean of the middle
// two). All zero when there are no values.
struct Spread {
  Duration mean, p50, p95, p99;
};

// Computed in whole microseconds, so the same result gives the same Summary on every machine.
struct Summary {
  // Over the window, or over all jobs if none was asked for. JCT and waiting are of finished jobs.
  std::optional<Window> window;  // As asked, cut to the jobs there are.
  std::uint64_t jobs = 0;        // = finished + failed + rejected + unfinished.
  std::uint64_t finished = 0;
  std::uint64_t failed = 0;
  std::uint64_t rejected = 0;
  std::uint64_t unfinished = 0;
  std::string first_rejection;  // Why the first of the rejected can never run; untrusted text.
  Spread jct;                   // Submit to end.
  Spread wait;                  // The part of it without GPUs.
  WaitingSummary waiting;       // And why.

  // Over the whole run, whatever the window.
  Duration makespan;  // First submit to last end of the jobs that finished.
  std::uint64_t preemptions = 0;
  std::uint64_t migrations = 0;
  Duration gpu_time;  // Held by leases: an hour on 8 GPUs is 8 hours.
  // gpu_time / (GPUs x makespan). When jobs that ran were left unfinished, the makespan is
  // stretched to cover what is known of them, so that an interrupted run does not show more than it
  // used.
  double gpu_utilization = 0;
  std::int64_t gpus = 0;  // Of the cluster.
  std::uint64_t events = 0;
  std::uint64_t decisions = 0;
  std::uint64_t rounds = 0;
  FailureLedger failures;
  std::string digest;    // 16 hexadecimal digits.
  bool partial = false;  // Interrupted.

  Duration wall;  // How long the run took to compute; for the caller to fill in.
};

// What was run, in the words the user chose it with. All of it goes into summary.json.
struct RunLabel {
  std::string policy;
  std::string mechanism;
  std::string placement;
  std::string estimates;  // Where run-time estimates come from: "user", "history", "oracle"...
  std::string trace;
  std::string cluster;
  std::string compat;  // The simulator being imitated; empty for none.
  Duration round;      // Zero: plans at every event.
  std::uint64_t seed = 0;
  std::string retry;      // What becomes of jobs that fail; empty: none do.
  std::string tenants;    // Who shares the cluster; empty: nobody has a quota.
  std::string scheduler;  // The preset that the parts come from; empty: chosen one by one.
  std::string command;    // That made it, for a shell; empty: not told.
  std::vector<TenantSpec> quotas = {};  // Of tenants, for programs.
};

// What each tenant is entitled to, as RunLabel::quotas has it.
std::vector<TenantSpec> quotas_of(const TenantTree& tenants);

struct RunRow {
  RunLabel label;
  Summary summary;
};

Summary summarize(const SimResult& result, const Topology& topology,
                  std::optional<Window> window = std::nullopt);

}  // namespace muster
