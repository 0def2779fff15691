#pragma once

// User settings of policies. All policies share this struct; each reads its own fields.

#include <cstdint>
#include <vector>

#include "base/types/time.h"
#include "engine/model/service_distribution.h"

namespace muster {

struct PolicyOptions {
  // Queues of mlfq-las and mlfq-gittins: a job leaves queue i when its GPU time (with `by_time`:
  // its run time) reaches thresholds[i]. Ascending, positive.
  std::vector<Duration> thresholds = {Duration::seconds(3250)};
  bool by_time = false;
  // A job that has waited for this many thousandths of its run time returns to the first queue; 0:
  // never. The default guarantees 1/17 of the time. With 8000, as in other implementations,
  // promoted jobs displace each other on an overloaded cluster: 2.8 preemptions per job instead
  // of 1.7.
  std::int64_t promote_permille = 16000;

  // GPU time of earlier jobs for gittins and mlfq-gittins (run time for mlfq-gittins with
  // `by_time`). Empty: they learn it from completed jobs.
  ServiceDistribution service;
  // Quantum of gittins in GPU time; positive. The default is that of Tiresias' simulator.
  Duration gittins_quantum = Duration::seconds(3250);
};

}  // namespace muster
