#pragma once

// How far a job is, from its progress file, with the time at which it said so: the file system's
// time of the last write, which is right however seldom one looks. The file is the job's own, so
// nothing in it is trusted and no more than a bounded part is read.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace muster {

struct StepSeen {
  std::int64_t unix_us = 0;
  double step = 0;
  std::optional<double> epoch;  // Over its data, as it says.
};

class StepWatch {
 public:
  explicit StepWatch(std::string path) : path_(std::move(path)) {}

  // The last whole line that has a step, if there are new ones.
  std::optional<StepSeen> look();

 private:
  std::string path_;
  std::int64_t offset_ = 0;
};

}  // namespace muster
