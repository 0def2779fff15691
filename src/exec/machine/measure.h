#pragma once

// Runs a job on this machine, by a shim as the manager would, and changes its limit of CPU under
// it until its speed is known. Called by `muster profile`; returns when the job is stopped and
// nothing of it is left.

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
  LaunchSpec spec;      // What to run; its CPU is the session's to say.
  std::string scratch;  // An empty directory for the records.
  std::string shim;     // The program muster-shim.
  SessionOptions session;
  std::function<void(const Session&)> watch;  // Now and then; may be empty.
  std::function<bool()> interrupted;          // True: stop it and return.
};

struct Measured {
  SpeedCurve curve;
  Duration time;  // Under all limits together.
  int starts = 0;
  std::optional<std::string> trouble;  // Why it went no further.
  std::string last_words;              // Of the job, if it failed by itself.
  std::int64_t own_mem_mib = 0;        // At the most, without what the system caches of files.
  double steps_per_epoch = 0;          // Zero: it has not told of a whole one.
};

// An error if nothing can be measured here at all: the CPU cannot be limited, or no process made.
Result<Measured> measure(const MeasureOrder& order);

}  // namespace muster
