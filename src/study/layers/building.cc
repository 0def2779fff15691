#include "study/layers/building.h"

#include <utility>

namespace muster {

Layer convolution_layer(std::string name, const Convolution& c, std::int64_t per_output,
                        std::int64_t beside) {
  const std::int64_t weights = c.taps * c.inputs * c.outputs;
  return {std::move(name),
          kFloatBytes * weights,
          kFloatBytes * per_output * c.outputs,
          kFloatBytes * (c.output_numbers() + beside),
          weights * c.side * c.side,
          "conv",
          beside == 0};
}

Layer linear_layer(std::string name, std::int64_t inputs, std::int64_t outputs) {
  const std::int64_t weights = inputs * outputs;
  return {
      std::move(name), kFloatBytes * weights, kFloatBytes * outputs, kFloatBytes * outputs, weights,
      "linear"};
}

}  // namespace muster
