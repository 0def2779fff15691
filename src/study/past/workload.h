#pragma once

// A manager's past as the workload it was, to be simulated again, and what became of that workload
// then, in the form in which a simulation tells it, so that both are counted and written alike.
//
// A job needs the time its leases really ran, all together, at the speed of the share they had;
// failed attempts are in it, and a cancelled job needs what it had got until then. It arrives when
// nothing but GPUs stood in its way. Jobs that never ran are left out: nobody knows what they need.

#include <cstddef>
#include <vector>

#include "sim/run/result.h"
#include "study/past/live_history.h"
#include "workload/trace/trace.h"

namespace muster {

struct Workload {
  Trace trace;
  SimResult happened;  // With its history; every job that is over counts as finished.
  // Jobs of the trace that were still running, in its order; nobody knows what more they need.
  std::vector<std::size_t> unfinished;
};

// May have no jobs at all. The notes of the trace say what was left out, after the history's own.
Workload as_workload(const LiveHistory& history);

// What was not over then does not count as finished in a simulation of it either.
void leave_unfinished(const Workload& workload, SimResult& simulated);

}  // namespace muster
