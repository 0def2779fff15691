#pragma once

// Measured or stated facts about the speed of one model. Profile is built from them.

#include <cstdint>
#include <vector>

#include "engine/model/resources.h"

namespace muster {

// Resources per GPU at which every speed is 1.0 and for which trace durations apply. From the
// 8-GPU, 24-CPU, 500-GB node of the Synergy paper.
inline constexpr Resources kReferenceShare = {1, 3000, 64000, 62500};

// Speed measured on a grid: rows are CPUs per GPU, columns are memory per GPU, both ascending.
// Speeds between the points are interpolated bilinearly; outside they are clamped.
struct SpeedMatrix {
  std::vector<std::int64_t> cpu_milli;
  std::vector<std::int64_t> mem_mib;
  std::vector<double> speed;  // Row-major, cpu_milli.size() * mem_mib.size() values.
};

// Analytic speed model for one GPU. A step takes as long as its slowest part: GPU compute, CPU
// preprocessing, or reading uncached data from storage. The cache never evicts, so memory caches a
// fixed part of the data set.
struct SpeedFormula {
  double gpu_seconds = 0;   // GPU time per step.
  double cpu_seconds = 0;   // CPU core-seconds per step.
  double mib_per_step = 0;  // Input data read per step.
  double dataset_mib = 0;   // Size of the data set.
  double base_mem_mib = 0;  // Memory of the process without cached data.
};

// Skew above which a model suffers from running on several nodes. Tiresias' measurements support
// any limit between 0.14 (inception3) and 0.61 (alexnet); see systems.md C5.
inline constexpr double kSkewLimit = 0.3;

// Step time on w GPUs: compute / w + fixed + each * w. No term is negative and not all are zero;
// only their ratios matter. This is Optimus' function for synchronous training with one parameter
// server per worker.
struct Scaling {
  double compute = 1;
  double fixed = 0;
  double each = 0;
};

// Data for the cost of communication; see communication.h.
struct ExchangeFacts {
  double parameter_bytes = 0;
  double compute_seconds = 0;  // One step without communication.
};

}  // namespace muster
