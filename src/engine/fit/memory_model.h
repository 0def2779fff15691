#pragma once

// Computes how memory affects a job's speed, instead of measuring it (Synergy's optimistic
// profiling). Memory beyond the job's own need caches its data set. A cache without eviction
// (MinIO, of CoorDL) holds the same part of the data from the second epoch on. So a fixed part of
// each step's data comes from memory and the rest from storage. A step takes the longer of compute
// time and fetch time. Only one run, with everything cached, has to be measured.
//
// The error is at most 3% from the second epoch on (see the simulations in memory_model_test.cc)
// if:
// - The loader prefetches enough: two steps per reader, the default of PyTorch. Steps miss
//   different amounts. If compute and fetch times are similar, a queue of q steps loses up to v /
//   (2q - 1). Here v = (1 - missed) / (items per step * missed), the relative variance of a step's
//   fetch time. For 3%, a batch of 64 that misses a third needs a queue of 2 steps, and a batch of
//   16 needs 3. A batch of 16 that misses one item in ten needs 10. Slow items must not block the
//   rest: the queue must hold twice the steps that run during one storage read.
// - A reader loads items from memory and storage one after the other, and the bandwidths are totals
//   for all readers. If readers wait for a shared storage device, others can read from memory
//   meanwhile. The job is then up to twice as fast as predicted, never slower.
// - The cache never evicts. An LRU cache (roughly the kernel's page cache) that holds the fraction
//   h hits only h + (1 - h) ln(1 - h): 15% instead of 50%.

#include <cstdint>
#include <span>
#include <vector>

#include "base/types/result.h"

namespace muster {

// Facts about one job, or about one GPU of it; all fields have the same scope.
struct DataFacts {
  double dataset_mib = 0;   // Zero: the job reads no data, and extra memory does not help.
  double mib_per_step = 0;  // Read per step, from memory or storage.
  double base_mem_mib = 0;  // Memory of the process without cached data.
  double mem_mib_per_s = 0;
  double storage_mib_per_s = 0;
};

// Returns an error unless all values are finite, not negative and at most 1e12, and the bandwidths
// are above zero if a data set is read. The functions below require valid facts.
MaybeError check_data(const DataFacts& facts);

// Returns the fraction of the data set that is cached with this much memory: 0 to 1.
double cached_part(double mem_mib, const DataFacts& facts);

// Returns the seconds per step with this much memory. `measured` (above zero) is the time with the
// same CPUs and everything cached. The result is the maximum of `measured` and the fetch time
// (cached part at memory bandwidth plus missed part at storage bandwidth). It never decreases with
// less memory. Below base_mem_mib it stays constant; whether the job can run there is not modeled.
double step_seconds(double measured, double mem_mib, const DataFacts& facts);

// Returns the minimum memory with full speed, in whole MiB, at least 1. With less memory, the job
// waits for storage.
std::int64_t least_full_speed_mem_mib(double measured, const DataFacts& facts);

// Returns the memory columns for a profile matrix, ascending and positive. `measured` has the step
// time of each row. The columns are the base memory, the base plus each tenth of the data set, the
// bend of each row, and points that keep linear interpolation within 2% of step_seconds(). At most
// 200 for up to 100 rows.
std::vector<std::int64_t> memory_points(std::span<const double> measured, const DataFacts& facts);

// Returns the MiB read from storage per epoch, from the second epoch on.
double missed_mib_per_epoch(double mem_mib, const DataFacts& facts);

// Returns the storage bandwidth that the job uses at most; with less, steps take longer. It is the
// full bandwidth if the job waits for storage, and zero if everything is cached.
double storage_wanted_mib_per_s(double measured, double mem_mib, const DataFacts& facts);

}  // namespace muster
