#pragma once

// The time of demotion in Tiresias' simulator. It divides by the number of GPUs twice, so after a
// preemption it checks for the demotion of a job too late or too early.

#include <algorithm>

#include "engine/policy/mlfq.h"

namespace muster {

// `Queues` is MlfqLas or MlfqGittins.
template <typename Queues>
class LateDemotion final : public Queues {
 public:
  using Queues::Queues;

 private:
  std::int64_t until_demotion(const JobFacts& job, Duration threshold) const override {
    const auto divide_up = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
    const std::int64_t second = Duration::seconds(1).us();
    const std::int64_t pace = this->options().by_time ? 1 : job.gpus;
    const std::int64_t ran = this->attained(job) / pace;
    const std::int64_t wait = divide_up(divide_up(threshold.us() - ran, pace), second) * second;
    return wait * pace;
  }
};

}  // namespace muster
