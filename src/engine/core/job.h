#pragma once

// The engine's row for one job, and the lease it may hold.

#include <cstdint>
#include <utility>
#include <vector>

#include "base/types/id.h"
#include "base/types/time.h"
#include "engine/core/books.h"
#include "engine/core/event.h"
#include "engine/model/job_spec.h"

namespace muster {

//            plan starts it           LeaseEnded kCompleted
//  kWaiting ----------------> kPlaced ----------------------> kDone
//      ^------- plan stops it ---/|
//      |                          | AttemptFailed
//      +------ kParked <----------+---------------> kFailed
enum class JobState : std::uint8_t {
  kWaiting,
  kPlaced,
  kParked,  // Failed, and to be tried again after a while.
  kDone,
  kFailed,
  kRejected,
  kCancelled
};

inline constexpr std::int32_t kNoRow = -1;

// GPUs that several jobs hold together: the books know them once.
enum class Together : std::uint8_t {
  kTurns,   // One at a time, each for a slice of time; the servers see to it.
  kPacked,  // Two at the same time.
};
struct Berth {
  std::vector<JobId> members;  // Two at least, in the order they came; all with equal slots.
  Together manner = Together::kTurns;
};

struct Job {
  JobSpec spec;
  Instant submitted;
  Duration estimate;      // Believed work: run time at the reference share.
  bool foreseen = false;  // The estimate is by what the job says of itself.
  JobState state = JobState::kWaiting;
  Epoch epoch = 0;               // Of the latest lease; 0 before the first.
  std::int32_t lease = kNoRow;   // In State::leases: the one it was planned to hold.
  std::int32_t ending = kNoRow;  // One it was told to give up and has not yet.
  std::int32_t placed = kNoRow;  // Index in State::placed.
  std::int32_t pencil = kNoRow;  // Index in the open Draft.
  std::int32_t berth = kNoRow;   // In State::berths; kNoRow while it has its GPUs to itself.

  // Progress is lazy: these are true at `since`, and grow from there at `speed` and by what the
  // lease holds, until something changes and settle() is called.
  Instant since;
  double speed = 0;         // Of work; 0 unless a lease has started.
  Duration work_done;       // Time at the reference share.
  std::int64_t gpu_us = 0;  // GPU time held so far.
  std::int64_t cpu_milli_ms = 0;
  std::int64_t mem_mib_ms = 0;
};

struct Lease {
  enum class State : std::uint8_t { kUnused, kPromised, kOrdered, kRunning, kStopping };
  State state = State::kUnused;
  JobId job;
  Epoch epoch = 0;
  Instant ordered;       // When it was told to start; of a promised one, when it was promised.
  Duration work_before;  // What the job had done when it got this lease.
  Duration saved;        // What it had done when it last said that it saved; zero: it never said.
  double speed = 0;      // With what it was last told, relative to the reference share.
  Placement placement;
  Resources total;  // Of `placement`.
  // Stopping leases whose servers it waits for: to start, while kPromised; otherwise to grow.
  std::int32_t blockers = 0;
  bool resize_due = false;  // Runs with `told`, and gets `placement` when nothing blocks it.
  Placement told;           // Only while resize_due.
  // What the job holds for real, or will from its start.
  const Placement& in_force() const { return resize_due ? told : placement; }

  // Whom it blocks, while kStopping. A wait that was called off has another `wait` by then.
  struct Blocked {
    JobId job;
    Epoch epoch;
    std::uint32_t wait;
  };
  std::vector<Blocked> blocked;
  std::uint32_t wait = 0;
};

}  // namespace muster
