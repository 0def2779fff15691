#pragma once

// Reads traces, with their format options, and clusters. Several subcommands use these functions.

#include <iosfwd>
#include <string>

#include "base/types/result.h"
#include "cli/common/parser.h"
#include "engine/model/profile.h"
#include "workload/input/cluster_file.h"
#include "workload/trace/trace.h"

namespace muster {

// The options that specify how to read a trace.
struct TraceOptions {
  std::string format;       // Empty: detected from the file.
  std::string throughputs;  // Path of a throughput table. Empty: none.

  void add_to(Command command);
};

// Returns whether `path` is a job log (Philly's cluster_job_log) and not a trace. Uses the --format
// option if given, otherwise the first bytes: a log is JSON.
bool is_log(const std::string& path, const TraceOptions& options);

// Reads a trace. A job log is converted to the workload that it recorded
// (workload/history/trace_history.h).
Result<Trace> load_trace(const std::string& path, const TraceOptions& options,
                         const ProfileTable& profiles);

// Reads a cluster: a list of nodes if `spec` ends in .csv, otherwise the text or file that
// read_cluster_file() accepts. Prints the list's notes to `notes`.
Result<ClusterFile> load_cluster(const std::string& spec, std::ostream& notes);

}  // namespace muster
