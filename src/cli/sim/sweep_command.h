#pragma once

// muster sweep: simulates every cell of a grid, several at a time, on this machine or on a Slurm
// cluster. An interrupted sweep can be resumed.

#include <string>
#include <vector>

#include "cli/common/command.h"
#include "cli/common/parser.h"
#include "cli/sim/sweep_cells.h"
#include "cli/sim/sweep_slurm.h"

namespace muster {

class SweepCommand {
 public:
  void add_to(Command app);
  int run(Streams streams);
  bool chosen() const { return command_.parsed(); }

 private:
  MaybeError check(const Grid& grid, Streams streams) const;
  MaybeError look_up(const Grid& grid, CellStore& store, std::vector<SweepCell>& cells) const;
  MaybeError simulate_here(const Grid& grid, const CellStore& store,
                           std::vector<SweepCell>& cells) const;
  int run_task(Streams streams) const;
  void add_slurm_options();
  Result<SlurmOrder> read_order() const;
  SweepPlan plan_for(const Grid& grid, const CellStore& store) const;
  int gather(const Grid& grid, std::vector<SweepCell>& cells, Streams streams) const;

  Command command_;
  std::string grid_, out_ = "sweep";
  int threads_ = 0;
  std::string on_ = "here", time_limit_, mem_ = "2G";
  SlurmOrder order_;  // Without the options that read_order() parses from text.
  std::vector<Option> slurm_options_;
  std::string plan_, slice_;
};

}  // namespace muster
