#pragma once

// Builds a page that compares simulated runs: completion and waiting times, the cluster over time,
// the Gantt charts, and the commands of the runs. `muster report` reads the runs (loaded_runs.h),
// calls this once and passes the page to a writer.

#include <cstddef>
#include <optional>
#include <vector>

#include "base/types/result.h"
#include "study/compare/gantt.h"
#include "study/compare/loaded_runs.h"
#include "study/page/page.h"

namespace muster {

struct RunPageOptions {
  std::size_t baseline = 0;  // The run that the others are compared with.
  // Window of the Gantt charts. Empty: all, or a part around the middle that a browser can draw.
  std::optional<Stretch> window;
  bool gpus = true;  // False omits the Gantt charts.
};

// REQUIRES: at least one run. Deterministic, without side effects.
Page run_page(RunRefs runs, const RunPageOptions& options);
Page run_page(const std::vector<RunFiles>& runs, const RunPageOptions& options);

}  // namespace muster
