#pragma once

// Reads what running jobs report: their position, that they saved their work, how long they will
// still run. Becomes a roster input, and so a journal entry, only if the roster uses it and it
// differs from the last report.
//
// Threads: the manager thread owns it.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/types/time.h"
#include "engine/roster/roster.h"
#include "exec/lease/lease_files.h"
#include "live/lease/progress.h"

namespace muster {

// Returns the run time of the job at `now`: all its leases except pre-runs.
Duration ran_by(const LiveJob& job, Instant now);

class ReportWatch {
 public:
  // `files`: the reports of leases. `every`: the poll interval.
  ReportWatch(LeaseFiles files, Duration every) : progress_(std::move(files)), every_(every) {}

  const ProgressReader& progress() const { return progress_; }
  Instant next_look() const { return next_look_; }

  // Reads the progress files of running jobs if a poll is due. Appends a report per changed
  // forecast.
  void look(const Roster& roster, Instant now, std::vector<Input>& inputs);
  // Inserts the last reports of leases that end with `inputs`, so that a stopped job waits with its
  // latest estimate.
  void report_ends(const Roster& roster, Instant now, std::vector<Input>& inputs);

  // The lease was up before this object existed: see ProgressReader::take_up().
  void adopt(LiveId id, std::uint32_t lease) { progress_.adopt(id, lease); }
  // Reads the rest of the progress file of an ended lease.
  void read_rest(const Roster& roster, const LeaseRecord& record);
  void forget(LiveId id);  // The job is finished.

 private:
  struct LastReport {  // The last report to the roster about a job.
    Instant next;      // No earlier report.
    Instant next_speed;
    double left = -1;  // Reported remaining time in seconds; below zero: never reported.
    Duration ran;      // Run time at that report.
  };

  std::optional<ReportInput> report_of(const Roster& roster, const LiveJob& job, Instant now,
                                       bool at_once);
  bool is_news(const LiveJob& job, const Remaining& left, Instant now);

  ProgressReader progress_;
  Duration every_;
  std::map<LiveId, LastReport> reported_;
  Instant next_look_;
};

}  // namespace muster
