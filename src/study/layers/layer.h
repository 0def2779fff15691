#pragma once

// The costs of one layer of a neural network: the sizes of its parameters and output, and its
// compute work. A model is a list of layers in the order of the forward pass.

#include <cstdint>
#include <string>

namespace muster {

struct Layer {
  std::string name;
  std::int64_t weight_bytes = 0;  // The one large tensor.
  std::int64_t other_bytes = 0;   // Biases, batch normalization.
  // Bytes per sample that cross a cut behind this layer: its output after pooling and, inside a
  // block with branches, also the data that bypasses the layer.
  std::int64_t output_bytes = 0;
  std::int64_t macs = 0;  // Multiply-adds of the forward pass per sample.
  std::string type = {};  // "conv", "linear", or the exporter's name; for display only.
  // False if more than one tensor would cross a cut here, as inside a residual block.
  bool may_cut_behind = true;

  std::int64_t parameter_bytes() const { return weight_bytes + other_bytes; }
};

}  // namespace muster
