#pragma once

// Read access to an engine: its state, the decisions of the last step, and data of its planner.
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
  std::uint64_t stale = 0;  // Ignored events of leases that no longer exist.
  std::uint64_t plans = 0;
  std::uint64_t decisions = 0;  // Starts, stops and resizes ordered.
};

class EngineView {
 public:
  // Returns the planned lease of a job. REQUIRES: the job has one, as after kStart or kResize.
  const Lease& lease(JobId job) const;
  const std::string& why_rejected(JobId job) const;
  // Failed attempts of an active job, oldest first.
  std::span<const FailedAttempt> failures(JobId job) const;
  // The decisions of the last step, in order.
  const Decisions& decisions() const { return decided_; }
  std::span<const FailureDecision> reactions() const { return decided_.reactions; }
  std::span<const Quarantine> quarantines() const { return decided_.quarantines; }
  const State& state() const { return state_; }
  Instant wake() const { return wake_; }  // Time of the last kWakeAt; never(): none.
  // Returns the maximum time between two plans that are due without an event.
  Duration longest_pause() const { return std::max(options_.round, options_.quantum); }
  // Returns when a job in back-off is retried, or never() if it is not in back-off. O(jobs in
  // back-off).
  Instant back_off_until(JobId job) const { return backing_off_.until(job); }
  Reports wants_reports() const { return planner_->wants_reports(); }
  // Wait time by cause up to `now`. REQUIRES: `now` is not before the last step.
  WaitSplit waited(JobId job, Instant now) const { return planner_->waited(job, now); }
  std::vector<JobId> class_heads() const { return planner_->class_heads(now_); }
  // See Planner::queue_order(). `now` before the last step means the last step.
  std::optional<std::vector<JobId>> queue_order(Instant now, std::size_t most) const;
  std::optional<BackfillReservation> kept_free() const;  // Only while its job waits.

  using Counters = EngineCounters;
  const Counters& counters() const { return counters_; }
  // Digest of all lease ends and all actions except kWakeAt, in order.
  std::uint64_t digest() const { return digest_.value(); }

 protected:
  EngineView(const Cluster& cluster, Owned<Planner> planner, const EngineOptions& options)
      : state_(cluster, options.pooling, options.estimates),
        planner_(std::move(planner)),
        options_(options) {}

  State state_;
  Owned<Planner> planner_;
  EngineOptions options_;
  Instant now_;
  Instant wake_ = Instant::never();
  JobTimers backing_off_;                                 // Jobs in back-off.
  std::map<JobId, std::vector<FailedAttempt>> failures_;  // Only active jobs.
  std::map<JobId, std::string> rejections_;               // Reason by job.
  Decisions decided_;                                     // Decisions of the last step.
  Counters counters_;
  Digest digest_;
};

}  // namespace muster
