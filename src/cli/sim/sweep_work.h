#pragma once

// Simulates cells of a sweep, several at a time, and saves each result immediately. Used for a
// whole sweep on this machine and for the slice of a Slurm task.

#include <functional>
#include <string>
#include <vector>

#include "cli/sim/sweep_cells.h"

namespace muster {

struct CellFailure {
  std::string key;
  Error error;
};

// Simulates the cells that have no result. Skips the rest after a failure or Ctrl-C. `threads` 0
// means one thread per core. Calls `done` after each cell, from one thread at a time. Returns the
// first failure.
std::optional<CellFailure> simulate_cells(const Grid& grid, const std::string& file,
                                          const CellStore& store, std::vector<SweepCell>& cells,
                                          int threads, const std::function<void()>& done);

}  // namespace muster
