#pragma once

// Between workloads and pasts: what a trace says of the past, and the workload that a past was, so
// that `muster sim` can replay a log.

#include "workload/history/history.h"
#include "workload/trace/trace.h"

namespace muster {

// When jobs came, their GPUs, and how long they ran; when they started, how they ended and where
// they ran a trace does not tell, so there are no attempts.
History from_trace(const Trace& trace);

// The jobs with the time they ran, all attempts together (PastJob::run), as the time they need; so
// a job that failed twice and passed needs what all three attempts took. Time begins with the first
// job kept if the history's times are dates. Jobs without GPUs or without a run time are left out;
// ids that are empty or given twice get a number. Both are counted in Trace::notes, after those of
// the history.
Trace to_trace(const History& history);

}  // namespace muster
