#pragma once

// A manager's past as it was, simulated under its own scheduler, and simulated under others: who
// would have waited how long, and who would have gained and lost.

#include <span>
#include <string>

#include "sim/results/summary.h"
#include "sim/run/result.h"
#include "study/page/page.h"
#include "study/past/workload.h"

namespace muster {

struct WhatIfRun {
  std::string name;  // For people, and short: "tiresias".
  Summary summary;
  const SimResult* result = nullptr;  // Of the workload's trace, with its history.
};

// The title is the answer, of the first of the others; then figures side by side, distributions,
// who gains and who loses, and the cluster over time. Gains are between simulations, so that what
// the simulator does not know of the machines is on both sides.
Page what_if_page(const Workload& workload, const WhatIfRun& happened, const WhatIfRun& same,
                  std::span<const WhatIfRun> others);

}  // namespace muster
