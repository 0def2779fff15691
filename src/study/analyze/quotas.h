#pragma once

// Computes when a tenant had used up its quota while its jobs waited: the fair-share part of
// waiting, by the two rules of the Philly study. wait_causes.cc calls it.

#include <cstdint>
#include <vector>

#include "study/analyze/study_input.h"

namespace muster {

// How to estimate an unknown quota. kP95: the level that the tenant did not exceed for 95% of the
// time from its first to its last GPU. kPeak: its maximum.
enum class QuotaGuess { kP95, kPeak };
std::int64_t guess_quota(const std::vector<Step>& held, QuotaGuess guess);

// The effect of a quota q on the wait of a job with g GPUs. The tenant is over its quota if it
// holds more than q - g.
struct FairShareWait {
  bool on_arrival = false;  // Over the quota on submission, including changes at that instant.
  Duration time;            // Part of the wait during which the tenant was over its quota.
};

struct WaitingJob {
  Instant submit;
  Instant start;  // Not before submit.
  std::int64_t gpus = 0;
};

// `jobs` are the jobs of one tenant in any order, and `held` the GPUs it held. Returns one entry
// per job in the same order. O(n log n) for n jobs and steps, regardless of the length of waits.
std::vector<FairShareWait> fair_share_waits(const std::vector<WaitingJob>& jobs,
                                            const std::vector<Step>& held, std::int64_t quota);

}  // namespace muster
