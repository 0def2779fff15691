#pragma once

// Simulates cells of a sweep, several at a time, and saves each as soon as it is done: all of them
// on this machine, or the slice of a plan that is a Slurm task's.

#include <functional>
#include <string>
#include <vector>

#include "cli/sim/sweep_cells.h"

namespace muster {

struct CellFailure {
  std::string key;
  Error error;
};

// Those without a result; skips the rest once one has failed, or Ctrl-C was pressed. Threads 0: one
// a core. `done` is called after each, by one thread at a time. The failure is the first there was.
std::optional<CellFailure> simulate_cells(const Grid& grid, const std::string& file,
                                          const CellStore& store, std::vector<SweepCell>& cells,
                                          int threads, const std::function<void()>& done);

}  // namespace muster
