#pragma once

// Building blocks of the built-in models, shared by their generators. Numbers are float32. A layer
// without parameters is part of the previous one.

#include <cstdint>
#include <string>

#include "study/layers/layer.h"

namespace muster {

inline constexpr std::int64_t kFloatBytes = 4;

// Numbers per output channel in addition to the weights: a bias, or those of batch normalization
// (scale, offset, moving mean and variance).
inline constexpr std::int64_t kBias = 1;
inline constexpr std::int64_t kNormalisation = 4;

struct Convolution {
  std::int64_t taps;  // Size of the kernel: 9 for 3 x 3, 7 for 1 x 7.
  std::int64_t inputs;
  std::int64_t outputs;
  std::int64_t side;    // Width of the output.
  std::int64_t pooled;  // Width after the following pooling, if any.

  std::int64_t output_numbers() const { return pooled * pooled * outputs; }
};

// `beside` numbers bypass the layer. If there are any, the model is not cut there.
Layer convolution_layer(std::string name, const Convolution& c, std::int64_t per_output,
                        std::int64_t beside = 0);

Layer linear_layer(std::string name, std::int64_t inputs, std::int64_t outputs);

}  // namespace muster
