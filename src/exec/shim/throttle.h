#pragma once

// Limits the CPU rate of a process tree without a control group. In each period of 100 ms, the
// process groups run for some time (SIGCONT) and pause for the rest (SIGSTOP). The run time depends
// on the measured CPU time, so it works for any number of threads. A job that uses less than its
// limit is never paused. The shim uses it if it has no cgroup.

#include <cstdint>
#include <vector>

namespace muster {

class Throttle {
 public:
  explicit Throttle(std::int64_t cpu_milli) : milli_(cpu_milli) {}

  void set_rate(std::int64_t cpu_milli) { milli_ = cpu_milli; }

  struct Step {
    bool run = true;           // Whether the tree runs until the next step.
    std::int64_t next_us = 0;  // Time of the next step.
  };
  // Call it at the `next_us` of the last step, with the total CPU time that the tree has used.
  Step step(std::int64_t now_us, double used_cpu_s);

 private:
  static constexpr std::int64_t kPeriodUs = 100'000;

  std::int64_t milli_;
  bool running_ = false;
  std::int64_t period_end_ = 0;
  std::int64_t since_ = 0;  // Start of the current run time.
  double used_at_since_ = 0;
  double used_before_ = 0;  // Total at the last step.
  double busy_ = 1;         // CPUs that the running tree uses, smoothed.
  double owed_us_ = 0;      // CPU time used above the limit; negative: unused.
};

}  // namespace muster
