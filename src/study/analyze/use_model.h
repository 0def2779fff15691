#pragma once

// A model of GPU utilization for simulated jobs, because a simulation does not measure any. The
// model reproduces published means of Philly (Jeon et al., ATC 2019). It is not a measurement:
// pages that show it say so (UseStudy::modeled). Schedulers and the simulator do not use it.
//
// Utilization = base x (1 - loss).
// Base: the mean of the study by number of GPUs and outcome; or Profile::gpu_use(), if the profile
// of the job's model states it.
// Loss: 0 on one node. On several nodes it grows as the gang has fewer GPUs per node, and with
// neighbors on its nodes. It has three published sources, see use_model.cc: jobs with 16 GPUs on 2,
// 4 and 8 nodes; and a test with two GPUs on one node and on two, next to no other jobs, to others
// and to others that are spread.
//
// In a share of the minutes a GPU is idle (a figure of the study, too). In the other minutes the
// utilization is uniform around its mean.

#include <cstdint>

#include "engine/model/profile.h"
#include "sim/run/neighbors.h"
#include "workload/history/history.h"
#include "workload/history/use_study.h"

namespace muster {

// The conditions of a lease while nothing changes.
struct UseConditions {
  std::int32_t gpus = 1;
  std::int32_t nodes = 1;
  Status status = Status::kUnknown;   // Final status of the job; kUnknown: the mean of all jobs.
  Company company = Company::kAlone;  // Other jobs on its nodes.
  double stated = 1;                  // Profile::gpu_use(); 1: not stated.
};

// Returns the mean utilization of the GPUs, in percent.
double modeled_use(const UseConditions& conditions);

// Returns the share of minutes in which a GPU is idle, from 0 to 1.
double modeled_idle(const UseConditions& conditions);

// Returns the modeled utilization of all attempts of a history with known hosts and times.
// `profiles` may be null. Several jobs that share a GPU count its minutes once each. Deterministic.
// O(n log n) for n attempts, times the jobs per node.
UseStudy model_use(const History& history, const ProfileTable* profiles);

}  // namespace muster
