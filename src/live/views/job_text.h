#pragma once

// One-line texts about a running or finished job: its placement, its resources, and where its time
// went.

#include <string>

#include "engine/core/cluster.h"
#include "engine/roster/live_job.h"
#include "engine/scheduler/scheduler.h"

namespace muster {

struct PastTimes {
  Duration all;
  Duration waited;  // Until its first start.
  Duration ran;
  int leases = 0;  // 0: it never ran.
};

// "waited 12 s to start, ran 5 min in 2 leases, 3 s in between"
std::string times_words(const PastTimes& times);
// For a job that failed: "failed after running 5 min: ...", or "after waiting" if it never ran. At
// most 120 characters with the job id in front.
std::string end_words(const std::string& state, const PastTimes& times, const std::string& why);

// "on 1 node by consolidate: minimum number of nodes, then the tightest fit"
std::string place_words(const Placement& placement, const SchedulerParts& parts);
// "3 CPUs: proportional to its GPUs", or how it differs from that and why. `least`: the job's
// minimum request per GPU.
std::string cpu_words(const Cluster& cluster, const Placement& placement, const Resources& least,
                      const SchedulerParts& parts);
std::string memory_words(const Cluster& cluster, const Placement& placement, const Resources& least,
                         const SchedulerParts& parts);

}  // namespace muster
