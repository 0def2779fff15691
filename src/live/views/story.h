#pragma once

// What people read of a job that runs or is over: why it is where it is and has what it has, and
// where its time went. One line each.

#include <string>

#include "engine/core/cluster.h"
#include "engine/roster/live_job.h"
#include "engine/scheduler/scheduler.h"

namespace muster {

struct PastTimes {
  Duration all;
  Duration waited;  // To its first start.
  Duration ran;
  int leases = 0;  // 0: it never ran.
};

// "waited 12 s to start, ran 5 min in 2 leases, 3 s in between"
std::string times_words(const PastTimes& times);
// Of one that did not end well: "failed after running 5 min: ...", or "after waiting" if it never
// ran; within a line of 120 characters with the job's id before it.
std::string end_words(const std::string& state, const PastTimes& times, const std::string& why);

// "on 1 server by consolidate: fewest servers, then the tightest fit"
std::string place_words(const Placement& placement, const SchedulerParts& parts);
// "3 CPUs: its share of the GPUs it has", or what is above or below that, and why.
// `least`: what the job asked for, a GPU.
std::string cpu_words(const Cluster& cluster, const Placement& placement, const Resources& least,
                      const SchedulerParts& parts);
std::string memory_words(const Cluster& cluster, const Placement& placement, const Resources& least,
                         const SchedulerParts& parts);

}  // namespace muster
