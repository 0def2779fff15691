#pragma once

// Reads a model as a table of its layers (CSV or JSON), as an exporter of a training framework
// writes it (docs/reference/formats.md, "Layers").

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "study/layers/layer.h"

namespace muster {

inline constexpr std::size_t kMaxLayers = 100'000;
inline constexpr std::int64_t kMaxLayerBytes = 1'000'000'000'000'000;  // A petabyte.
inline constexpr std::int64_t kMaxLayerMacs = 1'000'000'000'000'000;

struct LayerTable {
  std::string model;          // From the file, else the file name without directory and extension.
  std::vector<Layer> layers;  // At least one; all parameters are in `weight_bytes`.
};

// Detects CSV or JSON from the content. Rejects the file at the first error, with one line that
// names the file, line and field.
Result<LayerTable> read_layers(const std::string& path);

// Parses the same from memory. `name` is used as the path in messages.
Result<LayerTable> parse_layers(std::string_view text, const std::string& name);

}  // namespace muster
