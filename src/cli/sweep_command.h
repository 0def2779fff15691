#pragma once

// muster sweep: simulates every cell of a grid, several at a time, and can be interrupted and gone
// on with.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/sweep_cells.h"

namespace muster {

class SweepCommand {
 public:
  void add_to(CLI::App& app);
  int run(Streams streams);
  bool chosen() const { return command_->parsed(); }

 private:
  struct Cell {
    std::string key;
    std::string result;  // JSON; empty until it is known.
  };
  Refusal check(const Grid& grid, Streams streams) const;
  Refusal look_up(const Grid& grid, CellStore& store, std::vector<Cell>& cells) const;
  Refusal simulate_missing(const Grid& grid, const CellStore& store,
                           std::vector<Cell>& cells) const;

  CLI::App* command_ = nullptr;
  std::string grid_, out_ = "sweep";
  int threads_ = 0;
};

}  // namespace muster
