#pragma once

// Converts a manager's history to a workload that can be simulated again, and to the actual result
// in the form of a SimResult. So both are counted and written in the same way.
//
// The work of a job is the total run time of its leases at the speed of their shares. It includes
// failed attempts; for a cancelled job it ends with the cancellation. A job arrives when it waits
// only for GPUs. Jobs that never ran are omitted, because their work is unknown.

#include <cstddef>
#include <vector>

#include "sim/run/result.h"
#include "study/past/live_history.h"
#include "workload/trace/trace.h"

namespace muster {

struct Workload {
  Trace trace;
  SimResult happened;  // With history. All ended jobs count as finished.
  // Jobs of the trace that were still running, in trace order. Their remaining work is unknown.
  std::vector<std::size_t> unfinished;
};

// May have no jobs. The trace's notes list the notes of the history, then what was omitted.
Workload as_workload(const LiveHistory& history);

// Marks the jobs of `unfinished` as unfinished in a simulation, too.
void leave_unfinished(const Workload& workload, SimResult& simulated);

}  // namespace muster
