#pragma once

// Writes the result files of a run (`--out DIR`):
//
// jobs.csv             one row per job, in order of arrival; missing times are empty
// leases.csv           the job, node, GPUs, begin, end and outcome of each lease
// timeline.csv         the state of the cluster after every change
// trace.perfetto.json  one track per GPU, for ui.perfetto.dev or chrome://tracing
// summary.json         see summary_json.h
//
// The same run gives the same bytes, except `wall_s` in summary.json. leases.csv, timeline.csv and
// the tracks are empty if the result has no history.

#include <string>

#include "base/types/result.h"
#include "engine/model/topology.h"
#include "sim/results/summary.h"
#include "sim/run/result.h"
#include "workload/trace/trace.h"

namespace muster {

// Creates the directory and its parents if necessary, and replaces the five files. The files are
// moved into place only after all are written, summary.json last. So a full disk does not change
// the files of an earlier run, and the error names the file that could not be written. Memory use
// does not depend on the length of the history. REQUIRES: the result is of this trace on this
// topology.
MaybeError write_run(const std::string& dir, const SimResult& result, const Summary& summary,
                     const RunLabel& label, const Trace& trace, const Topology& topology);

}  // namespace muster
