#pragma once

// Reads cluster_job_log of the public Philly trace: one JSON array of jobs with all their attempts
// and the nodes of each. It reads the log once, with only a window of its text in memory.
//
// Special cases; History::notes counts them:
//   - A time that is null, "" or "None" is missing. Jobs without a submit time are skipped.
//   - Times in the log are US Pacific wall times: see pacific_time.h. In the History they are UTC.
//   - The log has no number of GPUs. It is taken from the first attempt that lists GPUs.
//   - Jobs without attempts are kept, with 0 GPUs. Attempts without start or end are kept too. An
//     end before the start is treated as missing.
//   - `run` is the sum over the attempts with start and end. All attempts except the last failed.
//     The last attempt failed if the job failed.
//   - A status other than Pass, Killed and Failed is kUnknown. Unknown fields are ignored. All jobs
//     with a duplicate id are kept.

#include <string>
#include <string_view>

#include "base/types/result.h"
#include "workload/history/history.h"

namespace muster {

// Returns a complete, validated History, or a one-line error "file: byte N: job K: field: what".
// Bytes count from 0, jobs from 1. For a truncated file, N is its end and K the incomplete job.
// O(n log n) for n jobs.
Result<History> read_philly_log(const std::string& path);

// Like read_philly_log(), from memory. `name` is used as the path in messages.
Result<History> parse_philly_log(std::string_view text, const std::string& name);

}  // namespace muster
