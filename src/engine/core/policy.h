#pragma once

// Who is next. A Policy is an order of the jobs and a rule for what happens when the first in that
// order does not fit; it never sees servers. One small file each in engine/policy, one table there.

#include <cstdint>
#include <vector>

#include "engine/core/rank.h"
#include "engine/core/view.h"

namespace muster {

struct PolicyTraits {
  enum class WhenStuck : std::uint8_t {
    kWait,     // Nobody overtakes the first job that does not fit.
    kSkip,     // It is passed over.
    kReserve,  // Passed over by those that, by the estimates, will not delay it (EASY backfill).
    kAlign,    // There is no first job: the one that suits the free servers best is taken.
  };
  WhenStuck when_stuck = WhenStuck::kSkip;
  bool preempts = false;  // May take GPUs from a running job that ranks behind a waiting one.
  // Ranks of running jobs worsen as they run, so the order changes without news. Such a policy
  // preempts only at ticks (rounds, or every quantum), or it would swap jobs without end.
  bool drifts = false;
  // Ranks of running jobs get better as they run.
  bool improves = false;
  // The policy remembers jobs from call to call, and is told what becomes of them: see below.
  bool remembers = false;
};

class Policy {
 public:
  virtual ~Policy() = default;
  virtual PolicyTraits traits() const = 0;

  // Where the job stands; smaller is sooner, ties fall to the older job. Asked when the job begins
  // to wait (and must hold, with its slope, until it no longer does) and, if the policy preempts,
  // again for running jobs at each plan.
  virtual Rank rank(const JobFacts& job) const = 0;

  // For those that remember. Each call comes before the job's rank is asked again.
  virtual void submitted(const JobFacts&) {}  // It waits for the first time.
  virtual void started(const JobFacts&) {}    // This plan gave it GPUs; in rank order.
  virtual void stopped(const JobFacts&) {}    // This plan took them away: it waits again.
  virtual void ended(const JobFacts&, bool /*completed*/) {}

  // At the beginning of each plan: every job that holds GPUs, in no particular order, between these
  // two. The second adds to `moved` the waiting jobs whose rank is no longer what it was.
  virtual void review(const JobFacts&) {}
  virtual void reviewed(Instant /*now*/, std::vector<JobId>& /*moved*/) {}
  // After each plan: when ranks change next without news; never() if they do not.
  virtual Instant review_at() const { return Instant::never(); }
};

}  // namespace muster
