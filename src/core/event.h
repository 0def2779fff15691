#pragma once

// What happens to the engine and what it orders: closed lists, both fit for a journal. A lease is
// named by its job and epoch; an epoch is never used twice, so news of an old lease is recognised.

#include <cstdint>
#include <string>
#include <variant>

#include "base/id.h"
#include "base/time.h"
#include "failure/reasons.h"
#include "model/job_spec.h"

namespace muster {

using Epoch = std::uint32_t;

struct JobSubmitted {  // Gets the next JobId.
  JobSpec spec;
};
struct JobCancelled {
  JobId job;
};
struct LeaseStarted {  // The job now makes progress (restoring a checkpoint is over).
  JobId job;
  Epoch epoch;
};
enum class LeaseOutcome : std::uint8_t {
  kCompleted,  // The job is done.
  kStopped,    // It stopped because we said so; its progress is saved.
};
struct LeaseEnded {  // Everything the lease held is free.
  JobId job;
  Epoch epoch;
  LeaseOutcome outcome;
};
struct AttemptFailed {  // The lease is over because the job failed; what it held is free.
  JobId job;
  Epoch epoch;
  Reason reason;
};
struct NodeClosed {  // The server takes no new leases; those on it are ended, or go on, as may be.
  NodeId node;
};
struct NodeOpened {
  NodeId node;
};
struct TimerFired {};  // The time asked for by WakeAt has come.

using Event = std::variant<JobSubmitted, JobCancelled, LeaseStarted, LeaseEnded, AttemptFailed,
                           NodeClosed, NodeOpened, TimerFired>;

struct Action {
  enum class Kind : std::uint8_t {
    kStart,   // Run the lease (job, epoch) on Engine::lease(job).in_force().
    kStop,    // Save and stop it; LeaseEnded must follow.
    kResize,  // Same GPUs, other CPU and memory: no restart.
    kReject,  // The job can never run here; Engine::why_rejected(job) says why.
    kWakeAt,  // Call step() at `at` with TimerFired. Replaces an earlier wish.
    kGiveUp,  // The job has failed for good.
  };
  Kind kind;
  JobId job;
  Epoch epoch = 0;
  Instant at;
};

}  // namespace muster
