#pragma once

// Reads the output of `muster sim --out DIR` (src/sim/results/result_files.h) as a history, so that
// `muster analyze` and comparisons can evaluate a simulation like a real log.

#include <string>
#include <string_view>

#include "base/types/result.h"
#include "workload/history/history.h"

namespace muster {

// Reads jobs.csv, leases.csv and summary.json of the directory. An attempt is a period on the same
// GPUs. It ends when the job finishes, fails, is stopped, is moved or gets other GPUs. The attempt
// after a stop, move or change is a resumed one. A job that failed in the pre-run has one attempt
// without times and nodes. An error is one line with file, line and column.
Result<History> from_run(const std::string& dir);

struct RunTexts {
  std::string_view jobs, leases, summary;
};

// Like from_run(), from memory. `dir` is used in messages and in History::source.
Result<History> parse_run(const RunTexts& texts, const std::string& dir);

}  // namespace muster
