#pragma once

// Simulated runs side by side, as a page to send to colleagues: completion and waiting times, the
// cluster over time, who held which GPU, and the commands that made it all. `muster report` reads
// the runs (run_files.h), calls this once and hands the page to a writer.

#include <cstddef>
#include <optional>
#include <vector>

#include "base/types/result.h"
#include "study/compare/gantt.h"
#include "study/compare/run_files.h"
#include "study/page/page.h"

namespace muster {

struct RunPageOptions {
  std::size_t baseline = 0;  // The run that the others are measured against.
  // Shown GPU by GPU; otherwise all, or as much from the middle as a browser draws with ease.
  std::optional<Stretch> window;
  bool gpus = true;  // Whether they are shown at all.
};

// At least one run. Pure: equal runs give equal pages.
Page run_page(RunRefs runs, const RunPageOptions& options);
Page run_page(const std::vector<RunFiles>& runs, const RunPageOptions& options);

}  // namespace muster
