#pragma once

// A job as people know it, from its submission until it is over: what the roster keeps of it beside
// the engine's own row.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/id.h"
#include "base/types/time.h"
#include "engine/core/books.h"
#include "engine/core/waiting.h"
#include "engine/failure/retry.h"
#include "engine/roster/input.h"

namespace muster {

enum class LiveState : std::uint8_t {
  kHeld,      // By its user.
  kBlocked,   // By a job it depends on, or by the limit of its array.
  kQueued,    // With the scheduler.
  kStarting,  // Has a lease whose processes are not up yet.
  kRunning,
  kStopping,  // Was told to stop and has not yet.
  kRetrying,  // Failed, and is to be tried again after a while.
  kDone,      // This and the next are ends.
  kFailed,
  kCancelled,
  kRejected,
};
std::string_view state_name(LiveState state);
std::optional<LiveState> find_state(std::string_view name);
constexpr bool is_over(LiveState state) { return state >= LiveState::kDone; }

// A lease that is on the machine, or ordered there.
struct LiveLease {
  std::uint32_t number = 0;  // Among all leases of its job, from 1.
  Placement placement;       // As last ordered.
  bool up = false;           // Its processes run.
  bool stopping = false;     // It was told to stop.
  bool trial = false;        // A pre-run.
  Instant since;             // When it was ordered.
  Instant up_since;
  std::string isolation;
  std::string says;  // What was last said of it: what holds it up, while it is not up.
};

// What the scheduler knew of a job when it was taken back from it.
struct Past {
  Duration work_done;
  std::int64_t gpu_us = 0;
  std::int64_t cpu_milli_ms = 0;
  std::int64_t mem_mib_ms = 0;
  std::vector<FailedAttempt> failures;
  std::optional<Duration> estimate = {};  // By the job's own reports.
};

struct LiveJob {
  LiveId id = 0;
  std::string user;
  std::string tenant;
  JobRequest request;
  LiveId array = 0;
  std::int32_t index = 0;
  std::int32_t at_once = 0;  // Of its array; 0: no limit.

  Instant submitted;
  std::optional<Instant> started;  // Its first lease was up.
  std::optional<Instant> ended;
  std::optional<LiveState> end;  // How, once it is over.
  std::string why;               // How it ended, or what happened last; for people.

  bool held = false;
  std::string held_why;            // Why Muster held it; empty if its user did.
  bool cancelled = false;          // Wanted; over when nothing of it runs any more.
  bool tried = false;              // The pre-run is behind it, or it wants none.
  std::int32_t waits_for = 0;      // Jobs it depends on that are not over.
  bool in_array_line = false;      // Waits for its turn in the array.
  std::optional<JobId> row;        // In the engine, while it is with the scheduler.
  bool withdrawn = false;          // That row was cancelled there; it ends with its lease.
  std::uint32_t lease_base = 0;    // Leases it had in earlier rows: number = base + epoch.
  std::optional<Past> past;        // Up to its last row in the engine.
  std::optional<LiveLease> lease;  // The one on the machine.
  std::uint32_t leases_used = 0;
  std::int32_t losses = 0;          // Leases lost one after the other.
  std::optional<Reason> failed_by;  // Its last lease, if that failed, ...
  Proof proof;                      // ... and what shows it.
  Duration ran;                     // In leases that are over.
  double step_unit = 0;             // See roster_reports.cc; 0: not known yet.

  // Of its story, see roster_story.cc.
  std::string told_wait;        // What stops it, as was said last; empty: nothing was.
  std::int32_t waits_told = 0;  // How often.
  Instant waits_since;          // While it waits for a lease.
  WaitSplit waited;             // With what the engine says of its row: of this wait, by cause.
  WaitSplit waited_for_lease;   // Before the lease it has, or had last.

  bool wants_trial() const { return !tried && request.prerun > Duration(); }
};

// For people, in whole seconds, minutes, hours or days: "90 s", "10 min".
std::string rough(Duration duration);

// One line of news: cut to below 120 bytes.
std::string brief(std::string words);

// How long its next lease may run; zero: as long as it likes.
Duration time_left(const LiveJob& job, bool trial);

}  // namespace muster
