#pragma once

// Events (the inputs of the engine) and actions (its outputs). A journal can store both. (job,
// epoch) identifies a lease. An epoch is never reused, so an event of an old lease is always
// recognized.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/types/id.h"
#include "base/types/time.h"
#include "engine/core/resource_ledger.h"
#include "engine/failure/node_blame.h"
#include "engine/failure/node_evidence.h"
#include "engine/failure/reasons.h"
#include "engine/failure/retry.h"
#include "engine/model/job_spec.h"

namespace muster {

using Epoch = std::uint32_t;

struct JobSubmitted {  // A new job; gets the next JobId.
  JobSpec spec;
};
// A job from another engine, for example after a change of the scheduler. It gets the next JobId.
// If it has a placement, the engine keeps that as lease (job, epoch) and confirms it with kStart.
// Without a kStart the lease could not be kept: the job waits, and the driver must stop the lease.
struct JobRestored {
  JobSpec spec;
  Instant submitted;
  Epoch epoch = 0;  // Lease epoch of its latest lease; 0: none.
  Duration work_done;
  std::int64_t gpu_us = 0;
  std::int64_t cpu_milli_ms = 0;
  std::int64_t mem_mib_ms = 0;
  std::vector<FailedAttempt> failures;
  Placement placement;                    // Empty: the job waits.
  std::optional<Duration> estimate = {};  // A prediction (JobPredicted); replaces the estimator's.
};
struct JobCancelled {
  JobId job;
};
struct LeaseStarted {  // The job makes progress from now on: its checkpoint is restored.
  JobId job;
  Epoch epoch;
};
enum class LeaseOutcome : std::uint8_t {
  kCompleted,  // The job completed its work.
  kStopped,    // The job stopped because the engine ordered it; its progress is saved.
};
struct LeaseEnded {  // All resources of the lease are free.
  JobId job;
  Epoch epoch;
  LeaseOutcome outcome;
};
struct AttemptFailed {  // The lease ended because the job failed. Its resources are free.
  JobId job;
  Epoch epoch;
  Reason reason;
  Duration ran = Duration::max();  // Run time of the attempt; max(): unknown.
  // The reaction that the matching failure signature specifies; it overrides that of `reason`.
  std::optional<SignatureReaction> told = {};
  // Text and exit statuses of jobs are reported evidence, also with a signature.
  EvidenceGrade grade = EvidenceGrade::kReported;
};
struct LeaseLost {  // The lease ended for an unknown reason. Not a failure of the job.
  JobId job;
  Epoch epoch;
  Duration wait;  // Back-off time before the job may start again.
};
// A progress report of a running job. The measured speed replaces the estimated speed until the
// lease changes.
struct JobReported {
  JobId job;
  Epoch epoch;
  double speed = 0;   // As Lease::speed. Negative or not finite: the report is ignored.
  double steps = 0;   // Total steps. A job of the same class on one GPU makes one per second.
  double passes = 0;  // Total training epochs.
  double loss = 0;    // Validation loss at this point; 0: not reported.
};
// A prediction of the remaining run time of a job, from its progress reports and with the resources
// of this lease. The engine revises its estimate up or down.
struct JobPredicted {
  JobId job;
  Epoch epoch;    // The lease in which it runs or is stopping.
  Duration left;  // Remaining run time. Zero or negative: ignored.
};
// A running job has saved a checkpoint of its work. The engine assumes that jobs without this event
// save every EngineOptions::checkpoint_interval.
struct JobSaved {
  JobId job;
  Epoch epoch;
};
// The result of a short trial run of a job with `profile` on `gpus` GPUs.
struct TypeMeasured {
  ProfileId profile;
  std::int32_t gpus = 1;
  double steps_per_second = 0;
};
// The work of a job that completed before this engine existed. The estimator learns from it.
struct WorkKnown {
  JobSpec spec;
  Duration work;
};
struct NodeClosed {  // The node accepts no new leases. Its leases may end or keep running.
  NodeId node;
};
struct NodeOpened {
  NodeId node;
  bool refutes = false;  // A passed test refutes the reports that led to its quarantine.
};
// The resources of a node that external jobs use: processes on the node that are not jobs of
// Muster. Replaces the earlier value; zero: there are none. Leases keep what they hold, but a new
// lease on the node must fit in what the external jobs leave free.
struct NodeTaken {
  NodeId node;
  Resources taken;  // GPUs, CPU and memory; storage is ignored.
};
struct BlameRestored {  // The evidence that an earlier engine knew (Engine::blame_memory()).
  BlameMemory memory;
};
struct TimerFired {};  // The time of the latest kWakeAt has come.

using Event =
    std::variant<JobSubmitted, JobRestored, JobCancelled, LeaseStarted, LeaseEnded, AttemptFailed,
                 LeaseLost, JobReported, JobPredicted, JobSaved, TypeMeasured, WorkKnown,
                 NodeClosed, NodeOpened, NodeTaken, NodeEvidence, BlameRestored, TimerFired>;

struct Action {
  enum class Kind : std::uint8_t {
    kStart,   // Run the lease (job, epoch) on Engine::lease(job).in_force().
    kStop,    // Save and stop it; LeaseEnded must follow.
    kResize,  // Change CPU and memory on the same GPUs, without a restart.
    kReject,  // The job can never run here; Engine::why_rejected(job) has the reason.
    kWakeAt,  // Call step() at `at` with TimerFired. Replaces the earlier time; never(): none.
    kGiveUp,  // The job failed and is not retried.
    kShare,   // The GPU-sharing group of the lease changed: View::sharing_group().
  };
  Kind kind;
  JobId job;
  Epoch epoch = 0;
  Instant at;
};

}  // namespace muster
