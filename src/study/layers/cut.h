#pragma once

// Finds where to cut a model between its workers and the parameter server (PS), after RALP (arXiv
// 1901.05803). Data parallel training sends every parameter to the PS and back in each step. If
// most of the parameters are in a few layers at the end, it is cheaper to keep these only on the PS
// (a "PS worker") and to send the output of the layer before them. The paper's statistic and
// threshold are not public; those used here are our own.

#include <cstddef>
#include <cstdint>
#include <span>

#include "study/layers/layer.h"

namespace muster {

struct TrainingSetup {
  std::int64_t workers = 8;
  std::int64_t batch = 32;  // Samples per step on each worker.
  // Network link of the PS worker, and its sustained multiply-adds. The defaults are RALP's 56 Gb/s
  // InfiniBand and half the peak of its Titan Xp: 12.15 TFLOP/s are 6.1 T multiply-adds. ResNet-50
  // and InceptionV3 reach 48% and 46% of the peak in TensorFlow's benchmarks of 2017 on a P100.
  double link_bytes_per_second = 7e9;
  double macs_per_second = 3e12;
};

// Bytes that one worker sends per step; it receives the same amount. The PS link carries 2 *
// workers * total().
struct Traffic {
  std::int64_t parameters = 0;
  std::int64_t activations = 0;

  std::int64_t total() const;
};

// Traffic with the first `kept` layers data parallel and the rest on the PS worker. If all are
// kept, this is plain data parallel training. REQUIRES: kept >= 1, because the workers read the
// input.
Traffic traffic_of(std::span<const Layer> layers, std::size_t kept, std::int64_t batch);

// Seconds per step for which the PS worker is busy: the larger of its network time and its compute
// time. A backward pass costs as much as two forward passes.
double step_seconds(std::span<const Layer> layers, std::size_t kept, const TrainingSetup& training);

// Seconds per step of computation on one worker that trains all layers, data parallel.
double worker_seconds(std::span<const Layer> layers, const TrainingSetup& training);

// Returns the `kept` with the smallest step_seconds() where the model may be cut, the largest on
// ties. Zero if there are no layers.
std::size_t best_cut(std::span<const Layer> layers, const TrainingSetup& training);

// Returns the `kept` before the last layers that use every weight once per sample, as fully
// connected layers do. This cut is easy to make, and serves for comparison if no cut is advised.
std::size_t connected_end(std::span<const Layer> layers);

// How unevenly parameters are distributed over the layers that have parameters.
struct LayerSkew {
  double g1 = 0;  // Moment skewness.
  double standard_error =
      0;  // Standard error of g1 for normal sizes; zero for less than three layers.
  double largest_share = 0;  // Share of the largest layer in all parameters.

  bool one_dominates() const;  // True if largest_share is above 0.3.
  // True if normality is rejected at 5% and one layer dominates. g1 alone is large for each model
  // with many small layers.
  bool is_skewed() const;
};

LayerSkew skew_of(std::span<const Layer> layers);

// Returns best_cut() for a skewed model, otherwise all layers (data parallel).
std::size_t advised_cut(std::span<const Layer> layers, const TrainingSetup& training);

}  // namespace muster
