#pragma once

// Tables of the results of a sweep: one row per cell, and one row per group of cells that differ
// only in the seed, with means and confidence intervals.

#include <string>
#include <vector>

#include "base/terminal/terminal.h"
#include "base/types/result.h"

namespace muster {

struct SweepTable {
  struct Row {
    std::vector<std::string> values;  // One value per axis.
    std::string result;               // summary_json() of the run.
  };
  std::vector<std::string> axes;  // Option names, as in the grid.
  std::vector<Row> rows;
};

// Writes results.csv and means.csv. The same table gives the same bytes.
MaybeError write_sweep(const std::string& dir, const SweepTable& table);

// Human-readable: one line per group.
std::string sweep_text(const SweepTable& table, ColorMode colors = ColorMode::kPlain);

}  // namespace muster
