#pragma once

// Reads the progress files of jobs incrementally and keeps their reports for forecasts. Jobs write
// these files, so no content is trusted, least of all its clock, and each read is bounded.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/types/time.h"
#include "engine/roster/input.h"
#include "exec/lease/lease_files.h"
#include "exec/machine/progress_file.h"
#include "live/lease/job_series.h"

namespace muster {

// Counters of the Python library that caches a job's data in memory.
struct CacheUse {
  double hits = 0;    // Reads from memory.
  double misses = 0;  // Other reads.
  double held_bytes = 0;
  double budget_bytes = 0;  // Maximum of held_bytes; 0: unknown.
  double dataset_bytes = 0;
  double read_bytes = 0;
};

struct Progress {
  std::optional<double> step;
  std::optional<double> epoch;
  std::optional<double> loss;
  std::optional<double> rate;   // Steps per second, as the job reports.
  std::optional<double> total;  // Total steps of the job, as it reports; above zero.
  std::optional<CacheUse> cache;
  // Reports that were not read: lines above the limits (see ProgressFile::News), lines that the
  // Python library could not write, and bytes that were removed before they were read.
  double dropped_lines = 0;
  double skipped_bytes = 0;
  std::int64_t at_unix_ms = 0;
};

class ProgressReader {
 public:
  explicit ProgressReader(LeaseFiles files) : files_(std::move(files)) {}

  struct News {
    bool any = false;
    bool saved = false;  // The job reported a checkpoint.
  };
  // Reads new lines of the lease's progress file. `ran`: run time of the job by now, in all its
  // leases. Without `ran` (as in a pre-run) the reports are not kept for forecasts.
  News look(LiveId id, std::uint32_t lease, std::optional<Duration> ran);
  // The lease was up before this reader, so the age of the lines in its file is unknown. Therefore
  // the first look() never reports `saved`.
  void adopt(LiveId id, std::uint32_t lease);
  const Progress* find(LiveId id) const;
  const JobSeries* series(LiveId id) const;  // nullptr: no reports kept.
  void forget(LiveId id) { jobs_.erase(id); }

 private:
  struct Reading {
    std::uint32_t lease = 0;
    std::optional<ProgressFile> file;
    Progress last;
    JobSeries series;
    bool any = false;
    double dropped = 0;     // Lines that this reader dropped, in all leases of the job.
    double unwritten = 0;   // As the Python library reports for the current process.
    bool taken_up = false;  // And not polled since.
  };
  LeaseFiles files_;
  std::map<LiveId, Reading> jobs_;
};

}  // namespace muster
