#pragma once

// What a user may set of a policy. One struct for all: a policy reads what concerns it.

#include <cstdint>
#include <vector>

#include "base/types/time.h"
#include "engine/model/service_distribution.h"

namespace muster {

struct PolicyOptions {
  // The queues of mlfq-las and mlfq-gittins: a job leaves queue i when it has attained
  // thresholds[i] of GPU time (of plain time, with `by_time`). Ascending, positive.
  std::vector<Duration> thresholds = {Duration::seconds(3250)};
  bool by_time = false;
  // A job that has waited this many thousandths of the time it ran goes back to the first queue;
  // 0: never.
  std::int64_t promote_permille = 8000;
  // As Tiresias' simulator: a demotion is looked for (limit - time run) / GPUs from now instead of
  // when the GPU time reaches the limit, which is later.
  bool late_demotion = false;

  // What gittins and mlfq-gittins are told of how much GPU time jobs need (plain time, in
  // mlfq-gittins with `by_time`). Empty: they learn it from the jobs that complete.
  ServiceDistribution service;
  // How far gittins looks ahead, in GPU time; positive. As Tiresias' simulator.
  Duration gittins_quantum = Duration::seconds(3250);
};

}  // namespace muster
