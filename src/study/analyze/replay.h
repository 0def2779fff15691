#pragma once

// Replays a job's failed attempts under a pre-run, a retry policy and a blacklist of inputs, to
// find the attempts that would have been avoided. failure_costs.cc calls it.
//
// Assumptions: a fault of the program or its inputs (a reason that no retry can fix, or the same
// suspect reason in all attempts of a failed job) appears in the pre-run as soon as it appeared in
// the attempt, if it appears on one GPU at all. The user then
// fixes the program, so this attempt and all later failures are avoided. A retry policy or a
// blacklist that stops the job avoids the later failed attempts. If the job succeeded in the end,
// stopping would have been wrong: this is counted and saves nothing. Attempts without a known
// reason do not stop retries.

#include <cstddef>
#include <cstdint>

#include "study/analyze/study_input.h"

namespace muster {

struct Savings {
  std::int64_t attempts = 0;  // Failed attempts that would have been avoided.
  std::int64_t gpu_us = 0;

  void add(std::int64_t time);
};

struct Replayed {
  // Jobs that are large enough for a pre-run, by their first failure.
  struct Caught {
    std::int64_t jobs = 0;
    std::int64_t caught = 0;  // The pre-run finds a fault of the job.
  };
  std::int64_t failed = 0;       // Failed attempts.
  std::int64_t timed = 0;        // Failed attempts with a known run time.
  std::int64_t told = 0;         // Failed attempts with a known reason.
  std::int64_t lost_gpu_us = 0;  // Where the run time is known.
  Savings pre_run;
  Savings retry;
  Savings blacklist;
  Savings together;
  std::int64_t pre_run_gpu_us = 0;  // Cost of the pre-run itself, on one GPU.
  std::int64_t given_up = 0;        // Jobs that succeeded but would have been stopped.
  Caught user_errors;
  Caught other_errors;

  void add(const Replayed& other);
};

// `listed`: the failed attempt at which a blacklist stops the job; see input_blacklist.h.
Replayed replay(const StudyInput& asked, const PastJob& job, std::size_t listed);

}  // namespace muster
