#pragma once

// What a live manager knows of its own past, read from its database beside it: every job it still
// keeps a row of, with its leases, and the settings in force. `muster sim --from-live` simulates it
// again, `muster analyze` studies it. Only what is on disk is told; see `notes` for what is not.

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
  std::string nodes;             // As Roster::where() wrote it.
  std::vector<HostShare> where;  // In LiveHistory::servers. Empty: cannot be read.
  std::int64_t cpu_milli = 0;    // In all, as last ordered.
  std::int64_t mem_mib = 0;
  bool trial = false;
  Instant up = Instant::never();   // Its processes ran from here; never(): they never did.
  Instant end = Instant::never();  // never(): not over.
  LeaseFate fate = LeaseFate::kFinished;
  std::optional<Reason> reason;

  std::int32_t gpus() const;
  // How long its processes ran, at the instant `now` if they still do.
  Duration held(Instant now) const;
};

struct KnownJob {
  LiveId id = 0;
  std::string user;
  std::string tenant;
  JobRequest request;
  Instant submitted;
  // From here on nothing but GPUs stood in its way, as far as that is known: after the jobs it
  // depended on, and in the journal's newest era also after holds and its turn in the array.
  Instant eligible;
  std::optional<Instant> ended;
  LiveState state = LiveState::kQueued;
  Duration ran;  // In leases that are over, trials apart; by the clocks of their shims.
  std::vector<PastLease> leases;
};

struct LiveHistory {
  std::string source;  // The database.
  std::int64_t born_unix_us = 0;
  Instant last;                      // The latest instant on disk.
  RosterSettings settings;           // In force.
  std::vector<std::string> servers;  // Those of the settings first, in their order.
  std::vector<KnownJob> jobs;        // By id.
  std::vector<std::string> notes;

  std::int64_t unix_us(Instant at) const { return born_unix_us + at.us(); }
  const KnownJob* find(LiveId id) const;
};

// How much of it to read.
struct PastLimits {
  std::size_t latest = std::numeric_limits<std::size_t>::max();  // Jobs, by id; and their leases.
  std::function<bool()> go_on = [] { return true; };  // Asked now and then; false ends it.
};
inline constexpr const char* kStoppedEarly = "stopped before it was done";

// The database that somebody means by its own path, by the directory it is in (a manager's home),
// or by the socket beside it.
Result<std::string> find_live_database(const std::string& named);
// Whether the path is one of these: a home, a socket, or an SQLite file.
bool names_live_database(const std::string& path);

// Leaves out what was submitted before, and says so.
void keep_since(LiveHistory& history, std::int64_t unix_us);
// Leaves out jobs of tenants that the settings no longer have, and says so; how many.
std::size_t keep_known_tenants(LiveHistory& history);

}  // namespace muster
