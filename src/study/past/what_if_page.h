#pragma once

// A page that compares a manager's actual history with simulations under its own scheduler and
// under others.

#include <span>
#include <string>

#include "sim/results/summary.h"
#include "sim/run/result.h"
#include "study/page/page.h"
#include "study/past/past_workload.h"

namespace muster {

struct WhatIfRun {
  std::string name;  // Short, for display: "tiresias".
  Summary summary;
  const SimResult* result = nullptr;  // Result for the workload's trace, with history.
};

// The title is the answer for the first of `others`. Then follow figures, distributions, gains and
// losses, and the cluster over time. Gains compare simulations with each other, so that both lack
// the same knowledge about the nodes.
Page what_if_page(const Workload& workload, const WhatIfRun& happened, const WhatIfRun& same,
                  std::span<const WhatIfRun> others);

}  // namespace muster
