#pragma once

// What several subcommands read the same way: traces, with what is needed to make sense of them,
// and clusters.

#include <iosfwd>
#include <string>

#include "base/types/result.h"
#include "cli/common/parser.h"
#include "engine/model/profile.h"
#include "workload/input/cluster_file.h"
#include "workload/trace/trace.h"

namespace muster {

// The options that say how to read a trace, beside the trace itself.
struct TraceOptions {
  std::string format, throughputs;  // Empty: detected, and none.

  void add_to(Command command);
};

// Whether that is to be read as a log, Philly's cluster_job_log: as the options say, or by its
// first bytes: JSON, not CSV.
bool is_log(const std::string& path, const TraceOptions& options);

// Of a log the workload that it was (workload/history/trace_history.h).
Result<Trace> load_trace(const std::string& path, const TraceOptions& options,
                         const ProfileTable& profiles);

// A list of servers if the name ends in .csv, otherwise what read_cluster_file() takes.
Result<ClusterFile> load_cluster(const std::string& spec, std::ostream& notes);

}  // namespace muster
