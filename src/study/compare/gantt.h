#pragma once

// The Gantt chart of one run (jobs on GPUs over time), reduced to what a browser can draw quickly.

#include <cstddef>
#include <string>

#include "base/types/time.h"
#include "study/compare/loaded_runs.h"
#include "study/page/page.h"

namespace muster {

struct Stretch {
  Instant begin, end;
};

inline constexpr std::size_t kMaxGanttBars = 20'000;

// Returns one window for all runs, so that they can be compared: the whole time, or a part around
// the middle with at most kMaxGanttBars bars in each run.
Stretch stretch_for(RunRefs runs);

// Omits bars outside of the window or beyond the limit. Gantt::thinned then describes this.
Gantt gantt_of(const RunFiles& run, const std::string& key, const Stretch& window);

}  // namespace muster
