#pragma once

// Holds a tree of processes to a CPU rate without a control group: in every period of 100 ms its
// process groups run for a part (SIGCONT) and pause for the rest (SIGSTOP). How large a part
// follows from what the tree used, so a job of four busy threads is held as well as one of one,
// and a job that uses less than its share is never paused. For the shim without cgroup rights.

#include <cstdint>
#include <vector>

namespace muster {

class Throttle {
 public:
  explicit Throttle(std::int64_t cpu_milli) : milli_(cpu_milli) {}

  void set_rate(std::int64_t cpu_milli) { milli_ = cpu_milli; }

  struct Step {
    bool run = true;           // Until the next step, the tree runs or pauses.
    std::int64_t next_us = 0;  // When that is.
  };
  // Called at the time the last step named, with the CPU time the tree has used so far.
  Step step(std::int64_t now_us, double used_cpu_s);

 private:
  static constexpr std::int64_t kPeriodUs = 100'000;

  std::int64_t milli_;
  bool running_ = false;
  std::int64_t period_end_ = 0;
  std::int64_t since_ = 0;  // Of the running part.
  double used_at_since_ = 0;
  double used_before_ = 0;  // At the last step.
  double busy_ = 1;         // CPUs the tree takes when it runs, smoothed.
  double owed_us_ = 0;      // CPU time used beyond the share; negative: left over.
};

}  // namespace muster
