#pragma once

// A lease's record directory as the executor sees it: made before the order is given, read to
// find out what became of it, also by a daemon that was not there at the time.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/files.h"
#include "base/types/result.h"
#include "exec/lease/report.h"
#include "exec/lease/spec.h"

namespace muster {

// "j12.e3" or "j12.e3.n1", as lease_name() makes them: nothing that could lead elsewhere.
bool is_lease_name(std::string_view name);

// Where the record of that name is, below the directory of all records.
inline std::string record_path(const std::string& leases, const std::string& name) {
  return leases + "/" + name;
}

// Makes the directory with its spec.json, both on disk when it returns. One that is there already
// must hold the same spec, or none yet.
Result<Fd> make_record(const std::string& leases, const LaunchSpec& spec);

Result<LaunchSpec> read_record(const Fd& directory);

struct Found {
  enum class What {
    kNeverStarted,  // And no shim is about to: the order may be repeated.
    kRunning,       // The shim lives: see started and process.
    kEnded,         // See ended.
    kLost,          // The shim is gone without a report: see why.
  };
  What what = What::kNeverStarted;
  std::optional<StartedFacts> started;
  Fd process;  // A pidfd of the shim.
  std::optional<ExitReport> ended;
  std::string why;
  bool rebooted = false;  // Since: nothing can be left of the lease.
};

// Waits a moment, a second at most, for a shim that is just starting.
Result<Found> look_at(const Fd& directory, const LaunchSpec& spec);

// For a lease that never started: makes sure that it never will, and leaves this report.
Refusal close_unstarted(const Fd& directory, const ExitReport& report);

// Names of all record directories, sorted; and of those whose lease is not known to be over.
Result<std::vector<std::string>> record_names(const std::string& leases);
Result<std::vector<std::string>> unfinished_records(const std::string& leases);

// Deletes the record of a part that is over; false if there is none such. `lost`: also one that has
// left no report.
bool forget_record(const std::string& leases, const std::string& name, bool lost = false);

// Kills what is left of a lease whose shim is gone and began at `since`; true when nothing was.
// `patient`: not true either while some process may or may not belong to it.
bool sweep(const LaunchSpec& spec, std::int64_t since, bool patient);

}  // namespace muster
