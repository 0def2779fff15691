#pragma once

// What memory does to a job's speed, computed instead of measured. The memory a job has beyond its
// own need caches its data set. A cache that never evicts (MinIO, of CoorDL) holds the same part of
// it from the second epoch on, so a fixed part of every step's data comes from memory and the rest
// from storage; a step takes as long as computing it or as fetching it, whichever is longer
// (Synergy's optimistic profiling). One run with everything cached is all there is to measure.
//
// Within 3 % from the second epoch on (memory_model_test.cc has the simulations), provided that:
// - The loader reads far enough ahead: two steps a reader, as PyTorch does by default. Steps differ
//   in how much they miss, so where computing and fetching take about as long, a queue of q steps
//   loses up to v / (2q - 1), with v = (1 - missed) / (items a step * missed), the variance of a
//   step's fetch time in squares of its mean: a batch of 64 that misses a third wants a queue of 2
//   steps for 3 %, a batch of 16 wants 3, and one that misses an item in ten 10. And an item that
//   comes from storage must not hold up the rest: a queue of twice the steps that happen meanwhile.
// - A reader takes memory's and storage's items one after the other, and the bandwidths are those
//   of all readers together. Where readers wait for a storage device that they share, others read
//   memory meanwhile; then the job is up to twice as fast as said here, never slower.
// - The cache never evicts. One that drops what was used longest ago (LRU, about what the kernel
//   does) and holds the part h hits only h + (1 - h) ln(1 - h): 15 % instead of 50.

#include <cstdint>
#include <span>
#include <vector>

#include "base/types/result.h"

namespace muster {

// Of one job as it is measured, or of one GPU of it; all of the same.
struct DataFacts {
  double dataset_mib = 0;   // Zero: the job reads nothing, and memory beyond its need is of no use.
  double mib_per_step = 0;  // Read a step, from wherever.
  double base_mem_mib = 0;  // What the process needs before it caches anything.
  double mem_mib_per_s = 0;
  double storage_mib_per_s = 0;
};

// All finite and not negative; bandwidths above zero where a data set is read. The functions below
// want facts that pass.
Refusal check_data(const DataFacts& facts);

// The part of the data set that is cached with this much memory: 0 to 1.
double cached_part(double mem_mib, const DataFacts& facts);

// What a step takes with this much memory, where it takes `measured` (above zero) with as many CPUs
// and everything cached: the longer of that and of the cached part at memory's bandwidth plus the
// missed part at storage's. With everything cached it is what was measured, even if the bandwidths
// say that it cannot be. Never shorter with less memory; below base_mem_mib as at it, since whether
// a job runs at all there is another question.
double step_seconds(double measured, double mem_mib, const DataFacts& facts);

// The least memory with which a step takes no longer than with everything cached, in whole MiB, at
// least 1: where storage stops being what the job waits for.
std::int64_t least_full_speed_mem_mib(double measured, const DataFacts& facts);

// Memory worth a column in a profile's matrix, whose rows are jobs with as many CPUs as each step
// was measured with: the base and it with every tenth of the data set, each row's bend, and
// what it takes for the straight lines between columns to be within 2 % of step_seconds().
// Ascending, all positive; at most 200 with up to 100 rows.
std::vector<std::int64_t> memory_points(std::span<const double> measured, const DataFacts& facts);

// Read from storage an epoch, from the second on.
double missed_mib_per_epoch(double mem_mib, const DataFacts& facts);

// The storage bandwidth below which a step would take longer than it does. All there is where the
// job waits for storage; zero where everything is cached.
double storage_wanted_mib_per_s(double measured, double mem_mib, const DataFacts& facts);

}  // namespace muster
