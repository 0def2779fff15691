#pragma once

// One job's failed attempts again, under a pre-run and a retry policy: which of them would not have
// happened. For failure_costs.cc.
//
// Assumed: what is wrong with the program or its inputs (reasons that no retry can fix) shows in
// the pre-run as soon as it showed in the attempt, if it shows on one GPU at all; whoever is caught
// there mends the program, and neither that attempt nor a later failed one happens. A retry policy
// that stops spares the failed attempts after that; but a job that passed in the end would have
// been given up wrongly, which is counted and saves nothing. Attempts without a told reason stop
// nothing.

#include <cstdint>

#include "study/analyze/asked.h"

namespace muster {

struct Savings {
  std::int64_t attempts = 0;  // Failed ones that would not have been.
  std::int64_t gpu_us = 0;

  void add(std::int64_t time);
};

struct Replayed {
  std::int64_t failed = 0;       // Attempts.
  std::int64_t timed = 0;        // Those of which it is told how long they ran.
  std::int64_t told = 0;         // Those of which it is told why.
  std::int64_t lost_gpu_us = 0;  // As far as it is told.
  Savings pre_run;
  Savings retry;
  Savings both;
  std::int64_t pre_run_gpu_us = 0;  // What the pre-run itself takes, on one GPU.
  std::int64_t given_up = 0;        // Jobs that passed and would have been stopped.

  void add(const Replayed& other);
};

Replayed replay(const Asked& asked, const PastJob& job);

}  // namespace muster
