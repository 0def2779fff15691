#pragma once

// Sections that compare runs of one workload, from files or from new simulations: completion and
// waiting times, the cluster over time, and ratios. Used by `muster report` and by what-if on a
// manager's history.

#include <string>
#include <vector>

#include "study/analyze/figures.h"
#include "study/analyze/study_input.h"
#include "study/page/page.h"

namespace muster {

// Times of finished jobs.
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

// Distributions of completion and waiting times.
Section distribution_section(const std::vector<RunTimes>& runs, const TimeUnit& unit);

struct RunSteps {
  std::string name;
  const std::vector<Step>* busy = nullptr;     // GPUs in use.
  const std::vector<Step>* waiting = nullptr;  // Waiting jobs.
};

// The cluster from time 0 to the last step of any run.
Section time_section(const std::vector<RunSteps>& runs);

// The speed-up before / after; empty if either value is missing.
Cell gain_cell(double before, double after);

}  // namespace muster
