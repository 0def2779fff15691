#pragma once

// Reads the utilization files of the public Philly trace, with one row per node and minute:
// cluster_gpu_util, cluster_cpu_util and cluster_mem_util. They have several gigabytes. Each file
// is read once; memory use depends only on the size of the log.
//
// Special cases:
//   - The zone after the time (PDT or PST) determines the offset. So minutes match the log also in
//     the repeated hour on 5 November.
//   - A line may end with a comma.
//   - "NA" and empty cells are missing values, as is the memory of a node with a total of 0.
//   - Values outside 0 to 100 percent are skipped.
// UseStudy::notes counts missing and skipped values.

#include <vector>

#include "base/file/byte_source.h"
#include "base/types/result.h"
#include "workload/history/history.h"
#include "workload/history/use_study.h"

namespace muster {

// Joins each GPU minute with the attempt that held the GPU (held_index.h). Sets PastJob::gpu_use,
// the GPU data of the study, and Server::gpus of nodes with more GPUs than jobs used. Pass all
// files in one call: a second call for the same study resets it. After an error the study is
// incomplete. REQUIRES: the history has hosts and dates (History::knows).
MaybeError add_gpu_use(std::vector<ByteSource> sources, History& history, UseStudy& study);

// Add one file to the study. Can be called for several files.
MaybeError add_cpu_use(ByteSource source, UseStudy& study);
MaybeError add_mem_use(ByteSource source, UseStudy& study);

}  // namespace muster
