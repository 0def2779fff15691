#pragma once

// A live manager's history, read from its database while it may be running: each job that still has
// a row, with its leases, and the current settings. `muster sim --from-live` simulates it again,
// and `muster analyze` studies it. It contains only what is on disk; `notes` lists what is missing.

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/types/result.h"
#include "base/types/time.h"
#include "engine/failure/reasons.h"
#include "engine/model/job_request.h"
#include "engine/roster/live_job.h"
#include "engine/roster/roster.h"
#include "workload/history/history.h"

namespace muster {

struct PastLease {
  std::uint32_t number = 0;
  std::string nodes;             // As written by Roster::where().
  std::vector<HostShare> where;  // Refers to LiveHistory::servers. Empty: unreadable.
  std::int64_t cpu_milli = 0;    // In total, as last ordered.
  std::int64_t mem_mib = 0;
  bool trial = false;
  Instant up = Instant::never();   // Start of its processes; never(): they never ran.
  Instant end = Instant::never();  // never(): still active.
  LeaseResult fate = LeaseResult::kFinished;
  std::optional<Reason> reason;

  std::int32_t gpus() const;
  // Run time of its processes, up to `now` if they still run.
  Duration held(Instant now) const;
};

struct KnownJob {
  LiveId id = 0;
  std::string user;
  std::string tenant;
  JobRequest request;
  Instant submitted;
  // From here on the job waited only for GPUs, as far as known: after its dependencies and, in the
  // newest era of the journal, also after holds and the limit of its array.
  Instant eligible;
  std::optional<Instant> ended;
  LiveState state = LiveState::kQueued;
  Duration ran;  // In ended leases except trials, by the clocks of their shims.
  std::vector<PastLease> leases;
};

struct LiveHistory {
  std::string source;  // Path of the database.
  std::int64_t born_unix_us = 0;
  Instant last;                    // The latest instant on disk.
  RosterSettings settings;         // Current settings.
  std::vector<std::string> nodes;  // Nodes: those of the settings first, in their order.
  std::vector<KnownJob> jobs;      // Sorted by id.
  std::vector<std::string> notes;

  std::int64_t unix_us(Instant at) const { return born_unix_us + at.us(); }
  const KnownJob* find(LiveId id) const;
};

// Limits of reading.
struct PastLimits {
  std::size_t latest =
      std::numeric_limits<std::size_t>::max();  // Latest jobs by id, with their leases.
  std::function<bool()> go_on = [] {
    return true;
  };  // Called occasionally; false ends the reading.
};
inline constexpr const char* kStoppedEarly = "stopped before completion";

// Returns the path of the database. `named` is the database, its directory (the state directory),
// or the socket next to it.
Result<std::string> find_live_database(const std::string& named);
// Returns true if the path is a state directory, a socket or an SQLite file.
bool names_live_database(const std::string& path);

// Removes jobs that were submitted earlier, and adds a note.
void keep_since(LiveHistory& history, std::int64_t unix_us);
// Removes jobs whose tenants are no longer in the settings, and adds a note. Returns their number.
std::size_t keep_known_tenants(LiveHistory& history);

}  // namespace muster
