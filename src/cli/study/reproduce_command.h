#pragma once

// muster reproduce: runs the experiments of the papers and compares the results with their claims.

#include <string>
#include <vector>

#include "base/types/result.h"
#include "cli/common/command.h"
#include "cli/common/parser.h"
#include "study/reproduce/experiment.h"
#include "study/reproduce/results_page.h"

namespace muster {

class ReproduceCommand {
 public:
  void add_to(Command app);
  int run(Streams streams);
  bool chosen() const { return command_.parsed(); }

 private:
  int list(Streams streams) const;
  Result<std::vector<const Experiment*>> choose();
  Result<std::vector<ExperimentResult>> run_all(const std::vector<const Experiment*>& chosen,
                                                const std::string& dir) const;
  MaybeError write(const ResultsPage& made) const;

  Command command_;
  std::vector<std::string> names_;
  std::string out_, data_;
  bool short_ = false, json_ = false;
  std::vector<std::vector<Experiment>> read_;  // Experiments of files that the user named.
};

}  // namespace muster
