#pragma once

// Whether a tenant had used its quota up while its jobs waited: the fair-share part of waiting, by
// the two rules of the Philly study, from what tenants held over time. For wait_causes.cc.

#include <cstdint>
#include <vector>

#include "study/analyze/asked.h"

namespace muster {

// How much of a tenant's quota there was, when nobody says: what it held at most 95% of the time
// from its first GPU to its last, or the most it ever held.
enum class QuotaGuess { kP95, kPeak };
std::int64_t guess_quota(const std::vector<Step>& held, QuotaGuess guess);

// What became of one job's wait under a quota q, for a job of g GPUs: its tenant is over its quota
// when it holds more than q - g.
struct FairShareWait {
  bool on_arrival = false;  // At its submission; changes at that very instant included.
  Duration time;            // Of its wait.
};

struct WaitingJob {
  Instant submit;
  Instant start;  // Not before submit.
  std::int64_t gpus = 0;
};

// Jobs of one tenant, in any order, and what it held. The same order comes back. For n jobs and
// steps n log n time, however long they waited.
std::vector<FairShareWait> fair_share_waits(const std::vector<WaitingJob>& jobs,
                                            const std::vector<Step>& held, std::int64_t quota);

}  // namespace muster
