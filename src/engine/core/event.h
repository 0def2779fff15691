#pragma once

// What happens to the engine and what it orders: closed lists, both fit for a journal. A lease is
// named by its job and epoch; an epoch is never used twice, so news of an old lease is recognised.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/types/id.h"
#include "base/types/time.h"
#include "engine/core/books.h"
#include "engine/failure/reasons.h"
#include "engine/failure/retry.h"
#include "engine/model/job_spec.h"

namespace muster {

using Epoch = std::uint32_t;

struct JobSubmitted {  // Gets the next JobId.
  JobSpec spec;
};
// A job with a past, which the engine has not seen: it comes from another engine, as after a change
// of the scheduler. Gets the next JobId. With a placement it holds that as the lease (job, epoch),
// which is told by a Start; no Start: it could not be kept and waits again, so stop it.
struct JobRestored {
  JobSpec spec;
  Instant submitted;
  Epoch epoch = 0;  // Of its latest lease.
  Duration work_done;
  std::int64_t gpu_us = 0;
  std::int64_t cpu_milli_ms = 0;
  std::int64_t mem_mib_ms = 0;
  std::vector<FailedAttempt> failures;
  Placement placement;  // Empty: it waits.
  // In the place of the estimator's, once it was foreseen there.
  std::optional<Duration> estimate = {};
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
  Duration ran = Duration::max();  // How long it had been up; max(): the driver cannot tell.
  std::optional<Told> told = {};   // By a signature, which then decides what is done about it.
};
struct LeaseLost {  // The lease is over and nobody knows why: no failure of the job.
  JobId job;
  Epoch epoch;
  Duration wait;  // Before the job may start again.
};
// What a running job says of itself, as it does now and then. The measured speed takes the place of
// the believed one until the lease changes.
struct JobReported {
  JobId job;
  Epoch epoch;
  double speed = 0;   // As Lease::speed. Not finite or negative: the report is ignored.
  double steps = 0;   // Done in all. The same sort of job on one GPU makes one a second.
  double passes = 0;  // Over its training data (the epochs of machine learning), done in all.
  double loss = 0;    // Of validation, there; zero when it says none.
};
// By what a job says of itself it would take so much longer in this lease, with what it has there.
// Its estimate is revised, up or down. Not above zero: ignored.
struct JobForeseen {
  JobId job;
  Epoch epoch;  // Of the lease it runs in, or is stopping in.
  Duration left;
};
// A running job has saved its work: what it has done by now is safe. Who never says so is taken to
// save at EngineOptions::checkpoint_interval.
struct JobSaved {
  JobId job;
  Epoch epoch;
};
// What a short trial run showed: a job of this sort on so many GPUs makes so many steps a second.
struct TypeMeasured {
  ProfileId profile;
  std::int32_t gpus = 1;
  double steps_per_second = 0;
};
// A job of this sort ended after so much work, before this engine was there: for its estimates.
struct WorkKnown {
  JobSpec spec;
  Duration work;
};
struct NodeClosed {  // The server takes no new leases; those on it are ended, or go on, as may be.
  NodeId node;
};
struct NodeOpened {
  NodeId node;
};
// So much of the server is held by strangers: by whoever shares it with us and is none of our jobs.
// Takes the place of what was said before; nothing: they are gone. What our leases hold already
// stays theirs, but no lease is placed there that would not fit beside the strangers.
struct NodeTaken {
  NodeId node;
  Resources taken;  // GPUs, CPU and memory; storage is not counted.
};
struct TimerFired {};  // The time asked for by WakeAt has come.

using Event = std::variant<JobSubmitted, JobRestored, JobCancelled, LeaseStarted, LeaseEnded,
                           AttemptFailed, LeaseLost, JobReported, JobForeseen, JobSaved,
                           TypeMeasured, WorkKnown, NodeClosed, NodeOpened, NodeTaken, TimerFired>;

struct Action {
  enum class Kind : std::uint8_t {
    kStart,   // Run the lease (job, epoch) on Engine::lease(job).in_force().
    kStop,    // Save and stop it; LeaseEnded must follow.
    kResize,  // Same GPUs, other CPU and memory: no restart.
    kReject,  // The job can never run here; Engine::why_rejected(job) says why.
    kWakeAt,  // Call step() at `at` with TimerFired. Replaces an earlier wish.
    kGiveUp,  // The job has failed for good.
    kShare,   // From now on the lease has its GPUs with others, or alone again: View::berth().
  };
  Kind kind;
  JobId job;
  Epoch epoch = 0;
  Instant at;
};

}  // namespace muster
