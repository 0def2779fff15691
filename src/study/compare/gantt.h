#pragma once

// Who held which GPU when, of one run, cut to what a browser draws with ease.

#include <cstddef>
#include <string>

#include "base/types/time.h"
#include "study/compare/run_files.h"
#include "study/page/page.h"

namespace muster {

struct Stretch {
  Instant begin, end;
};

inline constexpr std::size_t kMostGanttBars = 20'000;

// The same for all runs, so that they can be compared: from the beginning to the last end, or as
// long a piece around the middle as has few enough bars in each run.
Stretch stretch_for(RunRefs runs);

// What is outside of the window, or too much for it, is left out and said in Gantt::thinned.
Gantt gantt_of(const RunFiles& run, const std::string& key, const Stretch& window);

}  // namespace muster
