#pragma once

// What any runs of one workload have to show beside each other, whether files tell of them or a
// simulation has just ended: how long jobs took and waited, the cluster over time, and ratios. For
// `muster report` and for what-if on a manager's own history.

#include <string>
#include <vector>

#include "study/analyze/asked.h"
#include "study/analyze/figures.h"
#include "study/page/page.h"

namespace muster {

// Of jobs that finished.
struct RunTimes {
  std::string name;
  const Sample* jct = nullptr;
  const Sample* wait = nullptr;
};

struct TimeUnit {
  const char* name;
  double us;
};
inline constexpr TimeUnit kInHours = {"hours", kHour};
inline constexpr TimeUnit kInMinutes = {"minutes", kMinute};

// Completion and waiting as distributions.
Section distribution_section(const std::vector<RunTimes>& runs, const TimeUnit& unit);

struct RunSteps {
  std::string name;
  const std::vector<Step>* busy = nullptr;     // GPUs.
  const std::vector<Step>* waiting = nullptr;  // Jobs.
};

// From the beginning to the last step of any.
Section time_section(const std::vector<RunSteps>& runs);

// How many times as quick; nothing where either has nothing.
Cell gain_cell(double before, double after);

}  // namespace muster
