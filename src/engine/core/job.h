#pragma once

// Data of the engine about one job, and the lease it may hold.

#include <cstdint>
#include <utility>
#include <vector>

#include "base/types/id.h"
#include "base/types/time.h"
#include "engine/core/event.h"
#include "engine/core/resource_ledger.h"
#include "engine/model/job_spec.h"

namespace muster {

//            plan starts it           LeaseEnded kCompleted
//  kWaiting ----------------> kPlaced ----------------------> kDone
//      ^------- plan stops it ---/|
//      |                          | AttemptFailed
//      +------ kBackOff <---------+---------------> kFailed
enum class JobState : std::uint8_t {
  kWaiting,
  kPlaced,
  kBackOff,  // Failed, and will be retried after a delay.
  kDone,
  kFailed,
  kRejected,
  kCancelled
};

inline constexpr std::int32_t kNoRow = -1;

// How jobs share GPUs. The ledger counts shared GPUs once.
enum class SharingMode : std::uint8_t {
  kTimeSliced,  // One job at a time, each for a time slice; the nodes enforce it.
  kPacked,      // Two jobs at the same time.
};
struct GpuSharingGroup {
  std::vector<JobId> members;  // At least two, in order of entry; all have equal slots.
  SharingMode manner = SharingMode::kTimeSliced;
};

struct Job {
  JobSpec spec;
  Instant submitted;
  Duration estimate;       // Estimated total work: run time at the reference share.
  bool predicted = false;  // The estimate comes from JobPredicted.
  JobState state = JobState::kWaiting;
  Epoch epoch = 0;                      // Lease epoch of the latest lease; 0 before the first.
  std::int32_t lease = kNoRow;          // Index in State::leases of the planned lease.
  std::int32_t ending = kNoRow;         // Index in State::leases of a lease that is stopping.
  std::int32_t placed = kNoRow;         // Index in State::placed.
  std::int32_t drafted = kNoRow;        // Index in the open Draft.
  std::int32_t sharing_group = kNoRow;  // Index in State::sharing_groups; kNoRow: not shared.

  // Progress counters are lazy: they are exact at `since`. From there they grow with `speed` and
  // the resources of the lease, until State::settle() updates them.
  Instant since;
  double speed = 0;         // Relative to the reference share; 0 unless a lease runs.
  Duration work_done;       // Time at the reference share.
  std::int64_t gpu_us = 0;  // GPU time held so far.
  std::int64_t cpu_milli_ms = 0;
  std::int64_t mem_mib_ms = 0;
};

// kPromised: its GPUs are chosen, but it waits for stopping leases. kOrdered: kStart was emitted.
// kRunning: LeaseStarted arrived. kStopping: kStop was emitted.
struct Lease {
  enum class State : std::uint8_t { kUnused, kPromised, kOrdered, kRunning, kStopping };
  State state = State::kUnused;
  JobId job;
  Epoch epoch = 0;
  Instant ordered;       // When kStart was emitted; if kPromised, when it was promised.
  Duration work_before;  // Job::work_done when the job got this lease.
  Duration saved;        // Job::work_done at the last JobSaved; zero: there was none.
  double speed = 0;      // Estimated, for in_force(); relative to the reference share.
  Placement placement;
  Resources total;  // Sum of `placement`.
  // Stopping leases that this one waits for: to start if kPromised, otherwise to grow.
  std::int32_t blockers = 0;
  bool resize_due = false;  // It runs with `told` and gets `placement` when no lease blocks it.
  Placement told;           // Only while resize_due.
  // The resources that the job actually holds, or will hold from its start.
  const Placement& in_force() const { return resize_due ? told : placement; }

  // Leases that wait for this one while it is kStopping. An entry is void if Lease::wait of that
  // lease has changed.
  struct Blocked {
    JobId job;
    Epoch epoch;
    std::uint32_t wait;
  };
  std::vector<Blocked> blocked;
  std::uint32_t wait = 0;
};

}  // namespace muster
