#pragma once

// Converts between traces and histories. `muster analyze` reads traces as histories, and
// `muster sim` replays logs as traces.

#include "workload/history/history.h"
#include "workload/trace/trace.h"

namespace muster {

// Returns a history with submit times, GPUs and run times. A trace does not contain starts,
// outcomes and nodes, so there are no attempts.
History from_trace(const Trace& trace);

// Returns a trace whose durations are the run times of all attempts together (PastJob::run). If the
// history has dates, time 0 is the first job in the trace. Skips jobs without GPUs or run time, and
// times above 100 years. Adds a number to empty and duplicate ids. Trace::notes has the notes of
// the history and these counts.
Trace to_trace(const History& history);

}  // namespace muster
