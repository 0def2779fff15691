#pragma once

// Reads a model as a table of its layers, CSV or JSON, as an exporter writes it from a training
// framework (docs/formats.md, "Layers").

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "study/layers/layer.h"

namespace muster {

inline constexpr std::size_t kMostLayers = 100'000;
inline constexpr std::int64_t kMostLayerBytes = 1'000'000'000'000'000;  // A petabyte.
inline constexpr std::int64_t kMostLayerMacs = 1'000'000'000'000'000;

struct LayerTable {
  std::string model;          // As the file calls it; else the file's name without folder and end.
  std::vector<Layer> layers;  // At least one; all parameters are in `weight_bytes`.
};

// Tells CSV and JSON apart by their content. Refuses the whole file at the first thing wrong in it,
// in one line that names the file, line and field.
Result<LayerTable> read_layers(const std::string& path);

// The same from memory; `name` stands for the path in messages.
Result<LayerTable> parse_layers(std::string_view text, const std::string& name);

}  // namespace muster
