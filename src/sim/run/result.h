#pragma once

// What a simulation gives back: the fate of every job and, if asked for, the history behind it.
// Plain data; src/report turns it into numbers, tables and files.

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

enum class Fate : std::uint8_t {
  kFinished,
  kUnfinished,  // Still waiting or running when the run ended (interrupted, or never placeable).
  kFailed,      // Failed for good, after as many attempts as it was given.
  kRejected,    // Can never run on this cluster.
};

struct JobOutcome {
  Fate fate = Fate::kUnfinished;
  Instant submit;
  Instant start = Instant::never();  // First lease; never() if it got none.
  Instant end = Instant::never();    // never() unless finished or failed.
  Duration run;                      // Time holding GPUs, overheads included.
  std::int32_t preemptions = 0;      // Stopped before it was done, back to the queue.
  std::int32_t migrations = 0;       // Moved to other GPUs.
  std::int32_t gpus = 0;
  TenantId tenant;
  Instant first_end = Instant::never();  // Of its first lease; never() while it holds that.
  WaitSplit waiting;                     // Why it waited; of one that ended it adds up to wait().
  std::int32_t failures = 0;             // Attempts that failed.
  std::optional<Reason> last_failure;    // Of the last of them.
  std::int64_t gpu_us = 0;               // GPU time held; those that share GPUs a part each.
  std::int64_t lost_gpu_us = 0;          // GPU time spent on work that was lost.
  std::string why_rejected;

  Duration jct() const { return end - submit; }
  Duration wait() const { return jct() - run; }
};

enum class SpanEnd : std::uint8_t {
  kChanged,   // The lease goes on, with another share.
  kFinished,  // So did the job.
  kFailed,    // The attempt did.
  kStopped,   // Back to the queue: preempted, or its server went.
  kMoved,     // To other GPUs.
  kHeld,      // Not yet: the run ended.
};

// One job holding one node's GPUs from begin to end without change; for the GPU tracks and the
// list of leases. One that begins and ends at once is kept only as the last of its lease.
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
  std::optional<Reason> reason;  // Why it failed.
};

// The cluster right after something changed.
struct TimelinePoint {
  Instant at;
  std::int32_t busy_gpus = 0;
  std::int64_t cpu_milli = 0;  // Allotted.
  std::int64_t mem_mib = 0;    // Allotted.
  std::int32_t running = 0;
  std::int32_t waiting = 0;
  double speed = 0;  // Sum over running jobs, each relative to its reference share.
};

// So many GPUs of the cluster are free from `at` until the next point; the last holds to the end.
struct FreePoint {
  Instant at;
  std::int32_t free = 0;
};

// What failures cost. GPU time counts as lost when the work done in it is: since the last
// checkpoint when an attempt fails, and all of it when the job fails for good.
struct FailureLedger {
  bool on = false;                                          // Whether anything could fail.
  std::array<std::uint64_t, kReasonCount> attempts = {};    // Failed ones, by reason.
  std::array<std::int64_t, kReasonCount> lost_gpu_us = {};  // By the reason of the (last) failure.
  std::uint64_t caught = 0;         // Jobs that failed in the pre-run, before their gang started.
  std::int64_t pre_run_gpu_us = 0;  // GPU time of the pool.
  std::uint64_t outages = 0;        // Of servers.
  std::int64_t outage_gpu_us = 0;   // GPU time lost to them.
};

struct SimResult {
  std::vector<JobOutcome> jobs;  // In trace order.
  std::uint64_t events = 0;      // Applied by the engine.
  std::uint64_t decisions = 0;   // Starts, stops, resizes and moves it ordered.
  std::uint64_t rounds = 0;      // Times it planned.
  std::uint64_t digest = 0;      // Of every decision and every end, in order.
  std::int64_t gpu_us = 0;       // GPU time held by leases, in microseconds.
  bool partial = false;          // Interrupted.
  FailureLedger failures;
  std::vector<FreePoint> free;          // Ascending, one an instant.
  std::vector<LeaseSpan> spans;         // Only when history was asked for.
  std::vector<TimelinePoint> timeline;  // Only when history was asked for.
};

}  // namespace muster
