#pragma once

// The results of experiments as a Page: one section with a table per paper, the plots, and the
// commands.

#include <string>
#include <vector>

#include "study/page/page.h"
#include "study/reproduce/experiment.h"
#include "study/reproduce/expression.h"

namespace muster {

struct ExperimentResult {
  const Experiment* experiment = nullptr;
  RunResults runs;
  std::string not_run;                // Why it was not run completely; empty: it was.
  bool failed = false;                // A command failed. Only with `not_run`.
  std::vector<std::string> commands;  // As the user can run them, in order.
};

struct ResultCounts {
  int reproduced = 0, direction_only = 0, not_reproduced = 0, not_run = 0;
  // Claims that are not reproduced and have no reason, have no figure, or had a failed command.
  int unexplained = 0;
};

struct ResultsPage {
  Page page;
  ResultCounts counts;
};

// Builds the page. Expressions that cannot be computed become rows with the error as the verdict.
ResultsPage results_page(const std::vector<ExperimentResult>& results);

}  // namespace muster
