#pragma once

// A grid of simulations: for each option of `muster sim` one value or several, every combination a
// cell (docs/formats.md, "Grids"). `muster sweep` reads one; which options there are and what their
// values mean is not known here.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"

namespace muster {

inline constexpr std::size_t kMostCells = 100'000;

struct GridAxis {
  std::string option;               // Without dashes: "policy".
  std::vector<std::string> values;  // At least one, each once.
  int line = 0;
};

struct Grid {
  std::vector<GridAxis> axes;  // As written.

  std::size_t cells() const;
  // The value of each axis in a cell; the last axis changes fastest.
  std::vector<std::string_view> cell(std::size_t number) const;
};

// A seed may be a range: 1-10.
Result<Grid> read_grid(const std::string& path);
// The same from memory; `name` stands for the file in messages.
Result<Grid> parse_grid(std::string_view text, const std::string& name);

}  // namespace muster
