#pragma once

// Reads what became of the jobs of a trace, as `muster trace generate --outcomes` writes it (and as
// anybody may write it about a trace of their own): status, how long each attempt ran, and why
// those that failed did. When attempts started it does not tell.

#include <string>
#include <string_view>

#include "base/types/result.h"
#include "workload/history/history.h"

namespace muster {

// Into the history of that trace (trace_history.h). Columns: job_id,status,attempts,run_s,reasons.
// Jobs that the file does not have stay of unknown status, which is counted in History::notes;
// rows of jobs that the trace does not have are refused, and so are a job told of twice and
// attempts that do not add up to the time the trace has, to a second each. An error is one line
// that names the file, line and column, and the history is then worth nothing.
Refusal add_outcomes(const std::string& path, History& history);

// The same from memory; `name` stands for the path in messages.
Refusal parse_outcomes(std::string_view text, const std::string& name, History& history);

}  // namespace muster
