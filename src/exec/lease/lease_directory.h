#pragma once

// The record directory of a lease, from the executor's side. The executor creates it before it
// orders the start and reads the outcome from it, also after a restart of the daemon.

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/files.h"
#include "base/types/result.h"
#include "exec/lease/report.h"
#include "exec/lease/spec.h"

namespace muster {

// Whether `name` is "j12.e3" or "j12.e3.n1", the format of lease_name(). Such a name is safe in
// paths.
bool is_lease_name(std::string_view name);

// Returns the path of a record. `leases` is the directory of all records.
inline std::string record_path(const std::string& leases, const std::string& name) {
  return leases + "/" + name;
}

// Creates the directory and its spec.json. Both are durable when it returns. An existing directory
// must contain the same spec or none.
Result<Fd> make_record(const std::string& leases, const LaunchSpec& spec);

Result<LaunchSpec> read_record(const Fd& directory);

// The state of a lease according to its record.
struct Found {
  enum class What {
    kNeverStarted,  // And no shim is starting. The order can be repeated.
    kRunning,       // The shim is alive: see started and process.
    kEnded,         // See ended.
    kLost,          // The shim ended without a report: see why.
  };
  What what = What::kNeverStarted;
  std::optional<StartedFacts> started;
  Fd process;  // A pidfd of the shim.
  std::optional<ExitReport> ended;
  std::string why;
  bool rebooted = false;  // The machine rebooted, so no process of the lease is left.
};

// Reads the state of a lease. Waits up to one second for a shim that is starting.
Result<Found> look_at(const Fd& directory, const LaunchSpec& spec);

// Writes `report` for a lease that never started, so that it can no longer start.
MaybeError close_unstarted(const Fd& directory, const ExitReport& report);

// Return the sorted names of all records, and of the records without exit.json.
Result<std::vector<std::string>> record_names(const std::string& leases);
Result<std::vector<std::string>> unfinished_records(const std::string& leases);

// Deletes the record of a finished part. Returns false if there is none. `lost`: also deletes a
// record without a report.
bool forget_record(const std::string& leases, const std::string& name, bool lost = false);

// Kills the remaining processes of a lease whose shim has ended; `since` is the start of the shim.
// Returns true if there were none. With `patient`, it also returns false while it is unknown
// whether some process belongs to the lease. Processes in `spared` belong to other leases, even if
// they have copied the mark of this one.
bool sweep(const LaunchSpec& spec, std::int64_t since, bool patient,
           const std::vector<pid_t>& spared = {});

}  // namespace muster
