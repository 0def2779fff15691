#pragma once

// Reads the files of the public Philly trace that tell, minute by minute, how busy each server was:
// cluster_gpu_util, cluster_cpu_util and cluster_mem_util. They have gigabytes; one pass each, in
// memory that depends on the log alone.
//
// What is made of their oddities: the zone after the time, PDT or PST, is believed, so that minutes
// join the log's also on the night of 5 November; a comma may end a line; NA and nothing are no
// value, and neither is memory of a server that has none; values beyond 0 to 100 percent are left
// out. All but the first two are counted in UseStudy::notes.

#include <vector>

#include "base/file/byte_source.h"
#include "base/types/result.h"
#include "workload/history/history.h"
#include "workload/history/use_study.h"

namespace muster {

// Joins every GPU minute with the attempt that held the GPU (held_index.h): fills in gpu_use of the
// jobs, the GPU part of the study, and the GPUs of servers that have more than jobs used. The
// history must be one with hosts and dates. All files at once: a second call for the same study
// would begin it anew. After a refusal the study holds part of the files.
Refusal add_gpu_use(std::vector<ByteSource> sources, History& history, UseStudy& study);

// These add up, file by file.
Refusal add_cpu_use(ByteSource source, UseStudy& study);
Refusal add_mem_use(ByteSource source, UseStudy& study);

}  // namespace muster
