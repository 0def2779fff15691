#pragma once

// One layer of a neural network, as far as its cost goes: the size of what it learns, of what it
// hands on, and the work in it. A model is a list of these in the order of the forward pass.

#include <cstdint>
#include <string>

namespace muster {

struct Layer {
  std::string name;
  std::int64_t weight_bytes = 0;  // The one large tensor.
  std::int64_t other_bytes = 0;   // Biases, batch normalisation.
  // What crosses, for one sample, if the model were cut behind this layer: its output after pooling
  // and, inside a block with branches, what goes round the layer too.
  std::int64_t output_bytes = 0;
  std::int64_t macs = 0;  // Multiply-adds of the forward pass, for one sample.
  std::string type = {};  // "conv", "linear", or what the exporter calls it; only shown.
  // False where more than one tensor would cross, as inside a residual block: no cut there.
  bool may_cut_behind = true;

  std::int64_t parameter_bytes() const { return weight_bytes + other_bytes; }
};

}  // namespace muster
