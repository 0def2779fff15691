#pragma once

// The read side of an engine: its state, the results of the last step, and what its planner knows.
// Engine (engine.h) changes them.

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/types/digest.h"
#include "base/types/owned.h"
#include "engine/core/cluster.h"
#include "engine/core/decisions.h"
#include "engine/core/engine_options.h"
#include "engine/core/job_timers.h"
#include "engine/core/planner.h"
#include "engine/core/state.h"

namespace muster {

// Work that the engine has done since it was created, for metrics and benchmarks.
struct EngineCounters {
  std::uint64_t events = 0;
  std::uint64_t stale = 0;  // Events of leases that were given up; ignored.
  std::uint64_t plans = 0;
  std::uint64_t decisions = 0;  // Starts, stops and resizes ordered.
};

class EngineView {
 public:
  // The lease of a job that a Start or Resize names.
  const Lease& lease(JobId job) const;
  const std::string& why_rejected(JobId job) const;
  // Failed attempts of a job that is not over, in order.
  std::span<const FailedAttempt> failures(JobId job) const;
  // Of the last step, in order.
  const Decisions& decisions() const { return decided_; }
  std::span<const Aftermath> reactions() const { return decided_.reactions; }
  std::span<const Quarantine> quarantines() const { return decided_.quarantines; }
  const State& state() const { return state_; }
  Instant wake() const { return wake_; }  // The last wish for a WakeAt; never() for none.
  // Plans that are due at set times are no farther apart.
  Duration longest_pause() const { return std::max(options_.round, options_.quantum); }
  // When a parked job is tried again.
  Instant parked_until(JobId job) const { return parked_.until(job); }
  Reports wants_reports() const { return planner_->wants_reports(); }
  // Up to `now`, not before the last step.
  WaitSplit waited(JobId job, Instant now) const { return planner_->waited(job, now); }
  std::vector<JobId> fronts() const { return planner_->fronts(now_); }
  // As of `now`, not before the last step.
  std::optional<std::vector<JobId>> line(Instant now, std::size_t most) const;
  std::optional<KeptFree> kept_free() const;  // For a job that still waits.

  using Counters = EngineCounters;
  const Counters& counters() const { return counters_; }
  std::uint64_t digest() const { return digest_.value(); }  // Of all actions and ends, in order.

 protected:
  EngineView(const Cluster& cluster, Owned<Planner> planner, const EngineOptions& options)
      : state_(cluster, options.pooling), planner_(std::move(planner)), options_(options) {}

  State state_;
  Owned<Planner> planner_;
  EngineOptions options_;
  Instant now_;
  Instant wake_ = Instant::never();
  JobTimers parked_;                                      // Jobs in back-off.
  std::map<JobId, std::vector<FailedAttempt>> failures_;  // Of jobs not yet done.
  std::map<JobId, std::string> rejections_;               // Why, by job.
  Decisions decided_;                                     // In the last step.
  Counters counters_;
  Digest digest_;
};

}  // namespace muster
