#pragma once

// A sweep as a page: what its means.csv and results.csv say (sim/results/sweep.h writes them), with
// ratios to a group of cells chosen as the baseline.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "study/page/page.h"

namespace muster {

// A CSV file as it is. The columns before `seeds` are the sweep's axes.
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
// The same from memory; the directory's name stands in messages.
Result<SweepFiles> parse_sweep_files(std::string_view means, std::string_view results,
                                     const std::string& dir);

// What a group of cells is called: the values of the axes that differ, in their order.
std::vector<std::string> group_names(const SweepFiles& sweep);

// Baseline: in group_names().
Page sweep_page(const SweepFiles& sweep, std::size_t baseline);

}  // namespace muster
