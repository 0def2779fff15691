#pragma once

// Replays a job's failed attempts under a pre-run and a retry policy, to find the attempts that
// would have been avoided. failure_costs.cc calls it.
//
// Assumptions: a fault of the program or its inputs (a reason that no retry can fix) appears in the
// pre-run as soon as it appeared in the attempt, if it appears on one GPU at all. The user then
// fixes the program, so this attempt and all later failures are avoided. A retry policy that stops
// avoids the later failed attempts. If the job succeeded in the end, stopping would have been
// wrong: this is counted and saves nothing. Attempts without a known reason do not stop retries.

#include <cstdint>

#include "study/analyze/study_input.h"

namespace muster {

struct Savings {
  std::int64_t attempts = 0;  // Failed attempts that would have been avoided.
  std::int64_t gpu_us = 0;

  void add(std::int64_t time);
};

struct Replayed {
  std::int64_t failed = 0;       // Failed attempts.
  std::int64_t timed = 0;        // Failed attempts with a known run time.
  std::int64_t told = 0;         // Failed attempts with a known reason.
  std::int64_t lost_gpu_us = 0;  // Where the run time is known.
  Savings pre_run;
  Savings retry;
  Savings both;
  std::int64_t pre_run_gpu_us = 0;  // Cost of the pre-run itself, on one GPU.
  std::int64_t given_up = 0;        // Jobs that succeeded but would have been stopped.

  void add(const Replayed& other);
};

Replayed replay(const StudyInput& asked, const PastJob& job);

}  // namespace muster
