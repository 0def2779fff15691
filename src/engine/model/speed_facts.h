#pragma once

// Measured or stated facts about the speed of one model, from which a Profile is made.

#include <cstdint>
#include <vector>

#include "engine/model/resources.h"

namespace muster {

// The share per GPU at which every speed is 1.0 and trace durations are meant: that of the
// 8-GPU, 24-CPU, 500-GB server of the Synergy paper.
inline constexpr Resources kReferenceShare = {1, 3000, 64000, 62500};

// Speed measured on a grid: rows by CPUs per GPU, columns by memory per GPU, ascending axes.
// Bilinear between points, clamped outside them.
struct SpeedMatrix {
  std::vector<std::int64_t> cpu_milli;
  std::vector<std::int64_t> mem_mib;
  std::vector<double> speed;  // Row by row, cpu_milli.size() * mem_mib.size() values.
};

// Speed from first principles, for one GPU and one step: the slowest of computing on the GPU,
// preparing the data on CPUs, and fetching what the cache does not hold. The cache never evicts, so
// the part of the data set that fits in memory is read from memory and the rest from storage.
struct SpeedFormula {
  double gpu_seconds = 0;   // GPU time a step.
  double cpu_seconds = 0;   // CPU core-seconds a step.
  double mib_per_step = 0;  // Bytes read a step.
  double dataset_mib = 0;   // Size of the data set.
  double base_mem_mib = 0;  // What the process needs before it caches anything.
};

// Any limit between 0.14 (inception3) and 0.61 (alexnet) tells the models apart that Tiresias found
// to suffer from being spread from those that do not (systems.md C5).
inline constexpr double kSkewLimit = 0.3;

// How a job's speed grows with its GPUs, as the time a step takes on w of them: compute / w + fixed
// + each * w, none negative and not all zero. Only ratios count. (Optimus' function for synchronous
// training, with a parameter server beside each worker.)
struct Scaling {
  double compute = 1;
  double fixed = 0;
  double each = 0;
};

// How a job's validation loss falls: 1 / (b0 * pass + b1) + b2 after so many passes over its data.
struct LossFacts {
  double b0 = 0;  // Zero: it does not fall at all, and the job ends without converging.
  double b1 = 0;  // Above zero.
  double b2 = 0;
};

}  // namespace muster
