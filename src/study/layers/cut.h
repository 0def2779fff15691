#pragma once

// Where to cut a model between its workers and the parameter server, after RALP (arXiv 1901.05803).
// Data parallel training sends every parameter to the server and back at each step. In a model
// whose size sits in a few layers at its end, it is cheaper to keep those on the server alone, a
// "PS worker", and to send what the layer before them puts out. The paper's statistic and threshold
// are not public; those here are ours.

#include <cstddef>
#include <cstdint>
#include <span>

#include "study/layers/layer.h"

namespace muster {

struct TrainingSetup {
  std::int64_t workers = 8;
  std::int64_t batch = 32;  // Samples a step on each worker.
  // The PS worker: its network link, and multiply-adds it sustains. The defaults are RALP's
  // 56 Gb/s InfiniBand and half the peak of its Titan Xp.
  double link_bytes_per_second = 7e9;
  double macs_per_second = 3e12;
};

// Bytes that one worker sends in a step; as many come back. The PS link carries
// 2 * workers * total().
struct Traffic {
  std::int64_t parameters = 0;
  std::int64_t activations = 0;

  std::int64_t total() const;
};

// With the first `kept` layers data parallel and the rest on the PS worker. All kept is plain data
// parallel training; at least one layer must be, since the input comes to the workers.
Traffic traffic_of(std::span<const Layer> layers, std::size_t kept, std::int64_t batch);

// Seconds a step keeps the PS worker busy: its link or its computing (a backward pass costs two
// forward ones), whichever takes longer.
double step_seconds(std::span<const Layer> layers, std::size_t kept, const TrainingSetup& training);

// The `kept` with the least step_seconds, the largest on ties; only where the model may be cut.
// Zero if there are no layers.
std::size_t best_cut(std::span<const Layer> layers, const TrainingSetup& training);

// The `kept` in front of the layers at the end that use every weight once a sample, as fully
// connected ones do: the cut that is easy to make, and what it would bring to a model left alone.
std::size_t connected_end(std::span<const Layer> layers);

// How unevenly parameters are spread over those layers that have any.
struct LayerSkew {
  double g1 = 0;              // Moment skewness.
  double standard_error = 0;  // Of g1 if sizes were normal; zero for less than three layers.
  double largest_share = 0;   // The largest layer's part of the whole.

  bool one_dominates() const;  // The largest holds more than 0.3.
  // Normality is rejected at 5 % *and* one layer dominates: g1 alone is large for any model with
  // many small layers.
  bool is_skewed() const;
};

LayerSkew skew_of(std::span<const Layer> layers);

// The advice: best_cut() for a skewed model; all layers kept, that is data parallel, for others.
std::size_t advised_cut(std::span<const Layer> layers, const TrainingSetup& training);

}  // namespace muster
