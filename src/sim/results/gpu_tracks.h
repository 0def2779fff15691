#pragma once

// A track a GPU, for ui.perfetto.dev or chrome://tracing: part of what files.h leaves behind.

#include "base/file/atomic_file.h"
#include "engine/model/topology.h"
#include "sim/run/result.h"
#include "workload/trace/trace.h"

namespace muster {

// Chrome's trace-event format: a process a server, a thread a GPU, a complete event for every GPU
// of every span, in the order of their beginnings. Thread numbers are unique across processes, as
// Perfetto would like them to be, and do not collide with those of processes. Perfetto has no place
// for two events at once on one track: jobs that share a GPU get tracks of their own beside its
// first, which are there only where they are used.
void write_gpu_tracks(AtomicFile& file, const SimResult& result, const Trace& trace,
                      const Topology& topology);

}  // namespace muster
