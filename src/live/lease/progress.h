#pragma once

// What jobs say of themselves: the last line of each progress file, read a little at a time, and
// what is kept of those before it. The file is the job's own, so nothing in it is trusted, least of
// all its clock, and no more than a bounded part is read.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/types/time.h"
#include "engine/roster/input.h"
#include "exec/lease/lease_files.h"
#include "exec/machine/progress_file.h"
#include "live/lease/remaining.h"

namespace muster {

// Of the Python library that keeps a job's data in memory.
struct CacheUse {
  double hits = 0;    // Reads from memory,
  double misses = 0;  // and others.
  double held_bytes = 0;
  double budget_bytes = 0;  // What it may hold; 0: it does not say.
  double dataset_bytes = 0;
  double read_bytes = 0;
};

struct Progress {
  std::optional<double> step;
  std::optional<double> epoch;
  std::optional<double> loss;
  std::optional<double> rate;   // Steps a second, as the job says.
  std::optional<double> total;  // Steps of the whole job, as it says; above zero.
  std::optional<CacheUse> cache;
  std::int64_t at_unix_ms = 0;
};

class ProgressReader {
 public:
  explicit ProgressReader(LeaseFiles files) : files_(std::move(files)) {}

  struct News {
    bool any = false;
    bool saved = false;  // It said that it saved its work.
  };
  // Looks whether the lease has said more. The job has run for so long by now, in all its leases;
  // without that what it says is not kept for forecasts, as of a pre-run.
  News look(LiveId id, std::uint32_t lease, std::optional<Duration> ran);
  // The lease was up before this reader: when what is in its file was said nobody knows any more.
  // So the first look at it does not tell that it saved, which may have been hours ago.
  void take_up(LiveId id, std::uint32_t lease);
  const Progress* find(LiveId id) const;
  const JobSeries* series(LiveId id) const;  // Nothing has been kept of it: nullptr.
  void forget(LiveId id) { jobs_.erase(id); }

 private:
  struct Reading {
    std::uint32_t lease = 0;
    std::optional<ProgressFile> file;
    Progress last;
    JobSeries series;
    bool any = false;
    bool taken_up = false;  // And not looked at since.
  };
  LeaseFiles files_;
  std::map<LiveId, Reading> jobs_;
};

}  // namespace muster
