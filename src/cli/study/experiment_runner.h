#pragma once

// Runs the commands of an experiment as child processes of this program, several at a time.

#include <cstddef>
#include <functional>
#include <string>

#include "base/types/result.h"
#include "study/reproduce/experiment.h"
#include "study/reproduce/results_page.h"

namespace muster {

struct RunnerOptions {
  std::string dir;   // Working directory; each experiment gets its own subdirectory.
  std::string data;  // Directory of data files.
  int parallel = 1;  // Commands at a time.
};

// Number of commands of the experiment, for the progress bar.
std::size_t command_count(const Experiment& experiment);

// Runs all commands. Calls `done` after each. The output of a run is stored as NAME.json in the
// experiment's directory, its messages as NAME.log. A failed command ends the experiment: the
// result then names the command and begins its log. kInterrupted after Ctrl-C.
Result<ExperimentResult> run_experiment(const Experiment& experiment, const RunnerOptions& options,
                                        const std::function<void()>& done);

}  // namespace muster
