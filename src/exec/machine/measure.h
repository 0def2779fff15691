#pragma once

// Runs a job on this machine with a shim, as the manager does, and changes its CPU limit until its
// speed is measured. Called by `muster profile`. Returns when no process of the job is left.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/types/result.h"
#include "base/types/time.h"
#include "engine/fit/session.h"
#include "exec/lease/spec.h"

namespace muster {

struct MeasureOrder {
  LaunchSpec spec;      // The job to run. The session sets its CPU limit.
  std::string scratch;  // An empty directory for the records.
  std::string shim;     // Path of muster-shim.
  SessionOptions session;
  std::function<void(const Session&)> watch;  // Called periodically; can be empty.
  std::function<bool()> interrupted;          // Returns true to stop the job and return.
};

struct Measured {
  SpeedCurve curve;
  Duration time;  // Total time under all limits.
  int starts = 0;
  std::optional<std::string> trouble;  // Why the measurement ended early.
  std::string last_words;              // End of the job's output, if it failed.
  std::int64_t own_mem_mib = 0;        // Peak memory without the page cache.
  double steps_per_epoch = 0;          // Per training epoch; 0 if no whole one was reported.
};

// Fails if nothing can be measured: the CPU cannot be limited, or no process can be started.
Result<Measured> measure(const MeasureOrder& order);

}  // namespace muster
