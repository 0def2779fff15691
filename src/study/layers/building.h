#pragma once

// What the built-in models are put together from, shared by their generators. Numbers are float32;
// a layer without parameters is part of the one before it.

#include <cstdint>
#include <string>

#include "study/layers/layer.h"

namespace muster {

inline constexpr std::int64_t kFloatBytes = 4;

// Numbers kept for each output channel beside the weights: a bias, or those of batch normalisation
// (scale, offset, moving mean and variance).
inline constexpr std::int64_t kBias = 1;
inline constexpr std::int64_t kNormalisation = 4;

struct Convolution {
  std::int64_t taps;  // Of the kernel: 9 for 3 x 3, 7 for 1 x 7.
  std::int64_t inputs;
  std::int64_t outputs;
  std::int64_t side;    // Of the output.
  std::int64_t pooled;  // The same after the pooling that follows, if any.

  std::int64_t output_numbers() const { return pooled * pooled * outputs; }
};

// `beside` numbers go round the layer; if there are any, the model is not cut there.
Layer convolution_layer(std::string name, const Convolution& c, std::int64_t per_output,
                        std::int64_t beside = 0);

Layer linear_layer(std::string name, std::int64_t inputs, std::int64_t outputs);

}  // namespace muster
