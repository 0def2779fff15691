#pragma once

// The result of a simulation: the outcome of every job and, on request, the history. Plain data;
// src/sim/results computes numbers, tables and files from it.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/types/id.h"
#include "base/types/time.h"
#include "engine/core/waiting.h"
#include "engine/failure/reasons.h"

namespace muster {

enum class JobResult : std::uint8_t {
  kFinished,
  kKilled,      // Stopped by its user, at the end of its run time in the trace.
  kUnfinished,  // Waiting or running when the run ended (interrupted, or never placeable).
  kFailed,      // Failed for the last time, after all its attempts.
  kRejected,    // Can never run on this cluster.
};

struct JobOutcome {
  JobResult fate = JobResult::kUnfinished;
  Instant submit;
  // When it entered the queue: at submission, or after its pre-run; never() if it did not.
  Instant queued = Instant::never();
  Instant start = Instant::never();  // First lease; never() if there was none.
  Instant end = Instant::never();    // never() unless has_ended().
  Duration run;                      // Time with GPUs, including overheads.
  std::int32_t preemptions = 0;      // Stops that returned the job to the queue.
  std::int32_t migrations = 0;       // Moves to other GPUs.
  std::int32_t gpus = 0;
  TenantId tenant;
  Instant first_end =
      Instant::never();                // End of its first lease; never() while it holds that lease.
  WaitSplit waiting;                   // By cause. Adds up to wait() for ended jobs.
  std::int32_t failures = 0;           // Attempts that failed.
  std::optional<Reason> last_failure;  // Reason of the last failed attempt.
  std::int64_t gpu_us = 0;             // GPU time held; shared GPUs count in part.
  std::int64_t lost_gpu_us = 0;        // GPU time spent on lost work.
  std::string why_rejected;

  bool has_ended() const {
    return fate == JobResult::kFinished || fate == JobResult::kKilled || fate == JobResult::kFailed;
  }
  Duration jct() const { return end - submit; }
  Duration wait() const { return jct() - run; }
};

enum class SpanEnd : std::uint8_t {
  kChanged,   // The lease continues with another share.
  kFinished,  // The job finished.
  kKilled,    // The user stopped the job.
  kFailed,    // The attempt failed.
  kStopped,   // The job is back in the queue: preempted, or its node went down.
  kMoved,     // The job moved to other GPUs.
  kHeld,      // Not ended: the run ended first.
};

// One job holding one node's GPUs without change; for the GPU tracks and leases.csv. An empty span
// is kept only if it is the last of its lease.
struct LeaseSpan {
  JobId job;
  NodeId node;
  std::uint64_t slots = 0;  // Bit i: GPU i of the node.
  std::int64_t cpu_milli = 0;
  std::int64_t mem_mib = 0;
  double speed = 0;  // Relative to the reference share.
  Instant begin;
  Instant end;
  SpanEnd ended = SpanEnd::kChanged;
  std::optional<Reason> reason;  // Reason of a failure.
};

// The state of the cluster right after a change.
struct TimelinePoint {
  Instant at;
  std::int32_t busy_gpus = 0;
  std::int64_t cpu_milli = 0;  // Allocated.
  std::int64_t mem_mib = 0;    // Allocated.
  std::int32_t running = 0;
  std::int32_t waiting = 0;
  double speed = 0;  // Sum over running jobs, each relative to its reference share.
};

// Number of free GPUs of the cluster from `at` until the next point, or until the end of the run.
struct FreePoint {
  Instant at;
  std::int32_t free = 0;
};

// The cost of failures. GPU time is lost if its work is lost: since the last checkpoint if an
// attempt fails, and all of it if the job fails for the last time.
struct FailureLedger {
  bool on = false;                                          // True if failures were possible.
  std::array<std::uint64_t, kReasonCount> attempts = {};    // Failed attempts by reason.
  std::array<std::int64_t, kReasonCount> lost_gpu_us = {};  // By the reason of the (last) failure.
  std::uint64_t caught = 0;         // Jobs that failed in the pre-run, before their gang started.
  std::int64_t pre_run_gpu_us = 0;  // GPU time of the pool.
  std::uint64_t outages = 0;        // Outages of nodes.
  std::int64_t outage_gpu_us = 0;   // GPU time lost to outages.
};

struct SimResult {
  std::vector<JobOutcome> jobs;   // In trace order.
  std::uint64_t events = 0;       // Events applied by the engine.
  std::uint64_t decisions = 0;    // Starts, stops, resizes and moves that it ordered.
  std::uint64_t rounds = 0;       // Plans that it computed.
  std::uint64_t digest = 0;       // Digest of every decision and every end, in order.
  std::int64_t gpu_us = 0;        // GPU time held by leases, in microseconds.
  bool partial = false;           // The run was interrupted.
  bool numpy_statistics = false;  // Compute statistics as CompatTraits::numpy_statistics.
  FailureLedger failures;
  std::vector<FreePoint> free;          // Ascending, one per instant.
  std::vector<LeaseSpan> spans;         // Only if history was requested.
  std::vector<TimelinePoint> timeline;  // Only if history was requested.
};

}  // namespace muster
