#pragma once

// Reads back what `muster sim --out DIR` wrote (src/sim/results/files.h), so that a simulated past
// can be asked what a real one is asked.

#include <string>
#include <string_view>

#include "base/types/result.h"
#include "workload/history/history.h"

namespace muster {

// From jobs.csv, leases.csv and summary.json of the directory. An attempt is a lease on the same
// GPUs: it ends when the job finishes or fails, and when it is stopped, moved, or gets other GPUs;
// after these the next is a resumed one. A job that failed in the pre-run has one attempt, of
// which is not told when and where it was. An error is one line that names the file, line and
// column.
Result<History> from_run(const std::string& dir);

struct RunTexts {
  std::string_view jobs, leases, summary;
};

// The same from memory; the directory's name stands in messages and in History::source.
Result<History> parse_run(const RunTexts& texts, const std::string& dir);

}  // namespace muster
