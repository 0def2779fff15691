#pragma once

// How far a job is, from its progress file, with the time at which it said so. Used by whoever
// measures its speed.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "exec/machine/progress_file.h"

namespace muster {

struct StepSeen {
  std::int64_t unix_us = 0;
  double step = 0;
  std::optional<double> epoch;  // Over its data, as it says.
};

class StepWatch {
 public:
  explicit StepWatch(std::string path) : file_(std::move(path)) {}

  // The last whole line that has a step, if there are new ones.
  std::optional<StepSeen> look();

 private:
  ProgressFile file_;
};

}  // namespace muster
