#pragma once

// Reads cluster_job_log of the public Philly trace: one JSON array of jobs with all their attempts
// and where each ran. A log of any length is read in one pass, and of its text only a window is
// held at a time.
//
// What is made of its oddities; those with a count are said in History::notes:
//   - A time that is null, "" or "None" is missing. A job without a time of submission is left out.
//   - Times are on the wall in US Pacific time: see pacific_time.h. In the History they are UTC.
//   - There is no number of GPUs: it is that of the first attempt that names any.
//   - A job without attempts is kept, with 0 GPUs; so are attempts without start or end. An end
//     before its start is taken as missing.
//   - `run` is the sum over the attempts that have both start and end. All attempts but the last
//     failed, and the last of a failed job did too.
//   - A status other than Pass, Killed and Failed is kUnknown. Unknown fields are not used. Jobs of
//     one id are kept, all of them.

#include <string>
#include <string_view>

#include "base/types/result.h"
#include "workload/history/history.h"

namespace muster {

// A History whole and checked, or one line: "file: byte N: job K: field: what", where bytes count
// from 0 and jobs from 1. A file that ends too early says where it ends and which job began before.
Result<History> read_philly_log(const std::string& path);

// The same from memory; `name` stands for the path in messages.
Result<History> parse_philly_log(std::string_view text, const std::string& name);

}  // namespace muster
