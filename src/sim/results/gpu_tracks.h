#pragma once

// Writes the GPU tracks of a run for ui.perfetto.dev or chrome://tracing. result_files.cc calls it.

#include "base/file/atomic_file.h"
#include "engine/model/topology.h"
#include "sim/run/result.h"
#include "workload/trace/trace.h"

namespace muster {

// Uses Chrome's trace-event format: one process per node, one thread per GPU, and one complete
// event per GPU of each span, sorted by begin. Thread numbers are unique across processes and
// differ from process numbers, as Perfetto recommends. Perfetto cannot show two events at the same
// time on one track, so jobs that share a GPU get additional tracks. Only additional tracks that
// are used are written.
void write_gpu_tracks(AtomicFile& file, const SimResult& result, const Trace& trace,
                      const Topology& topology);

}  // namespace muster
