#pragma once

// A run as files: what `--out DIR` leaves behind.
//
//   jobs.csv             one row a job, in order of arrival; times that never came are empty
//   leases.csv           who held which GPUs of which server when, and how that ended
//   timeline.csv         the cluster after every change
//   trace.perfetto.json  one track a GPU, for ui.perfetto.dev or chrome://tracing
//   summary.json         as json.h writes it
//
// The same run gives the same bytes, but for `wall_s` in summary.json. leases.csv, timeline.csv and
// the tracks are empty when the result carries no history.

#include <string>

#include "base/types/result.h"
#include "engine/model/topology.h"
#include "sim/results/summary.h"
#include "sim/run/result.h"
#include "workload/trace/trace.h"

namespace muster {

// Makes the directory, with its parents, if it is not there, and replaces the five files in it.
// They take their places only after all were written, summary.json last: a full disk leaves an
// earlier run's files untouched, and one line says which file could not be written. Memory is
// bounded however long the history is. The result must be of this trace on this topology.
Refusal write_run(const std::string& dir, const SimResult& result, const Summary& summary,
                  const RunLabel& label, const Trace& trace, const Topology& topology);

}  // namespace muster
