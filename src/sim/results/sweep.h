#pragma once

// The results of a sweep as tables: one row a cell, and one row for each group of cells that differ
// in the seed only, with means and how sure they are.

#include <string>
#include <vector>

#include "base/terminal/terminal.h"
#include "base/types/result.h"

namespace muster {

struct SweepTable {
  struct Row {
    std::vector<std::string> values;  // Of each axis.
    std::string result;               // summary_json() of the run.
  };
  std::vector<std::string> axes;  // Options, as the grid names them.
  std::vector<Row> rows;
};

// Writes results.csv and means.csv. The same table gives the same bytes.
Refusal write_sweep(const std::string& dir, const SweepTable& table);

// For people: a line a group.
std::string sweep_text(const SweepTable& table, Ink ink = Ink::kPlain);

}  // namespace muster
