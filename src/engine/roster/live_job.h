#pragma once

// A job as users see it, from submission to its end: the roster's data in addition to the engine's
// row.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/id.h"
#include "base/types/time.h"
#include "base/types/uid.h"
#include "engine/core/resource_ledger.h"
#include "engine/core/waiting.h"
#include "engine/failure/retry.h"
#include "engine/roster/input.h"

namespace muster {

enum class LiveState : std::uint8_t {
  kHeld,      // Held by its user or by Muster.
  kBlocked,   // Waits for a dependency or for the limit of its array.
  kQueued,    // Waits for the scheduler.
  kStarting,  // Has a lease; its processes are not running yet.
  kRunning,
  kStopping,  // Ordered to stop; still running.
  kRetrying,  // Failed; in back-off before a retry.
  kDone,      // This and all following states are final.
  kFailed,
  kCancelled,
  kRejected,
};
std::string_view state_name(LiveState state);
std::optional<LiveState> find_state(std::string_view name);
constexpr bool is_over(LiveState state) { return state >= LiveState::kDone; }

// A lease that runs on nodes or was ordered.
struct LiveLease {
  std::uint32_t number = 0;  // Number among all leases of the job, from 1.
  Placement placement;       // As last ordered.
  bool up = false;           // Its processes run.
  bool stopping = false;     // It was ordered to stop.
  bool trial = false;        // A pre-run.
  Instant since;             // When it was ordered.
  Instant up_since;
  std::string isolation;
  std::string says;  // Last note about the lease, such as the reason for a delay.
};

// The engine's data about a job when the job left the engine.
struct EngineHistory {
  Duration work_done;
  std::int64_t gpu_us = 0;
  std::int64_t cpu_milli_ms = 0;
  std::int64_t mem_mib_ms = 0;
  std::vector<FailedAttempt> failures;
  std::optional<Duration> estimate = {};  // From the job's own reports.
};

struct LiveJob {
  LiveId id = 0;
  std::string user;
  std::uint32_t uid = kNoUid;  // Identity of the user; kNoUid: unknown.
  std::string tenant;
  JobRequest request;
  LiveId array = 0;
  std::int32_t index = 0;
  std::int32_t at_once = 0;  // Limit of its array; 0: no limit.

  Instant submitted;
  std::optional<Instant> started;  // When its first lease ran.
  std::optional<Instant> ended;
  std::optional<LiveState> end;  // Final state; none while it is active.
  std::string why;               // Reason of the end or of the last event; human-readable.

  bool held = false;
  std::string held_why;          // Why Muster held it; empty: its user held it.
  bool cancelled = false;        // Requested; it ends when its lease has stopped.
  bool tried = false;            // The pre-run is done or not requested.
  std::int32_t waits_for = 0;    // Number of active jobs it depends on.
  bool in_array_line = false;    // Waits for the limit of its array.
  std::optional<JobId> row;      // Its row in the engine; none if not in the engine.
  bool withdrawn = false;        // The row was cancelled in the engine; it ends with its lease.
  std::uint32_t lease_base = 0;  // Leases in earlier rows: lease number = lease_base + lease epoch.
  std::optional<EngineHistory> past;  // Data up to its last row in the engine.
  std::optional<LiveLease> lease;     // Its current lease.
  std::uint32_t leases_used = 0;
  std::int32_t losses = 0;          // Leases lost in a row.
  std::optional<Reason> failed_by;  // Failure reason of the last lease, if it failed.
  FailureEvidence proof;            // Evidence for failed_by.
  Duration ran;                     // Total run time of ended leases.
  double step_unit = 0;             // See roster_reports.cc; 0: unknown.

  // Data for its notes; see roster_notes.h.
  std::string told_wait;        // Last noted wait cause; empty: none.
  std::int32_t waits_told = 0;  // Number of wait notes.
  Instant waits_since;          // Start of the current wait for a lease.
  WaitSplit waited;             // Causes of this wait; add the engine's data for its row.
  WaitSplit waited_for_lease;   // Causes of the wait before its current or last lease.

  bool wants_trial() const { return !tried && request.prerun > Duration(); }
};

// Returns a rounded duration in seconds, minutes, hours or days: "90 s", "10 min".
std::string rough(Duration duration);

// Cuts a note to less than 120 bytes.
std::string brief(std::string words);

// Maximum run time of its next lease; zero: no limit.
Duration time_left(const LiveJob& job, bool trial);

}  // namespace muster
