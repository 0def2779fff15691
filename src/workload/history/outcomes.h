#pragma once

// Reads a file with the outcomes of the jobs of a trace: status, the run time of each attempt and
// the reasons of failures, but no start times. `muster trace generate --outcomes` writes such
// files; users can also write them for their own traces.

#include <string>
#include <string_view>

#include "base/types/result.h"
#include "workload/history/history.h"

namespace muster {

// Adds the outcomes to the history of that trace (trace_history.h).
// Columns: job_id,status,attempts,run_s,reasons. Jobs without a row keep the status kUnknown; a
// note counts them. Errors are: a job that is not in the trace, a duplicate job, and attempts whose
// total differs from the run time in the trace by more than 1 s per attempt. An error names file,
// line and column. The history is then partly changed; discard it.
MaybeError add_outcomes(const std::string& path, History& history);

// Like add_outcomes(), from memory. `name` is used as the path in messages.
MaybeError parse_outcomes(std::string_view text, const std::string& name, History& history);

}  // namespace muster
