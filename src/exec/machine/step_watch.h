#pragma once

// Reads the current step of a job from its progress file, with the time of the report. Used by
// measure.h to compute the speed.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "exec/machine/progress_file.h"

namespace muster {

struct StepSeen {
  std::int64_t unix_us = 0;
  double step = 0;
  std::optional<double> epoch;  // Training epoch as reported by the job.
};

class StepWatch {
 public:
  explicit StepWatch(std::string path) : file_(std::move(path)) {}

  // Returns the last new line that has a step, or nullopt.
  std::optional<StepSeen> look();

 private:
  ProgressFile file_;
};

}  // namespace muster
