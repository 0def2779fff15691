#pragma once

// Builds a page from the means.csv and results.csv of a sweep (written by
// sim/results/sweep_tables.h), with ratios to a baseline group of cells.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "study/page/page.h"

namespace muster {

// A CSV file without interpretation. The columns before `seeds` are the sweep's axes.
struct SweepFile {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

struct SweepFiles {
  std::string name;
  SweepFile means, results;
};

bool holds_sweep(const std::string& dir);
Result<SweepFiles> read_sweep_files(const std::string& dir);
// Parses the same files from memory. `dir` is used as the path in messages.
Result<SweepFiles> parse_sweep_files(std::string_view means, std::string_view results,
                                     const std::string& dir);

// Names of the groups: the values of the axes that differ, in axis order.
std::vector<std::string> group_names(const SweepFiles& sweep);

// `baseline` is an index into group_names().
Page sweep_page(const SweepFiles& sweep, std::size_t baseline);

}  // namespace muster
