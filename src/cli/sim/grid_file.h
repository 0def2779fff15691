#pragma once

// A grid of simulations: one or more values per option of `muster sim`. Each combination of values
// is a cell (docs/reference/formats.md, "Grids"). `muster sweep` reads grids. This file does not
// check the options or their values.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"

namespace muster {

inline constexpr std::size_t kMaxCells = 100'000;

struct GridAxis {
  std::string option;               // Without dashes: "policy".
  std::vector<std::string> values;  // At least one; no duplicates.
  int line = 0;                     // In the grid file.
};

struct Grid {
  std::vector<GridAxis> axes;  // In file order.

  std::size_t cells() const;
  // Returns the value of each axis in a cell. The last axis changes fastest.
  std::vector<std::string_view> cell(std::size_t number) const;
};

// Reads a grid file. A seed may be a range, such as 1-10.
Result<Grid> read_grid(const std::string& path);
// Parses a grid from memory. Error messages use `name` as the file name.
Result<Grid> parse_grid(std::string_view text, const std::string& name);

}  // namespace muster
