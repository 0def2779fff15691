#pragma once

// The order of jobs. A Policy ranks jobs, and its traits say what happens when the first job does
// not fit. It never sees nodes. Each policy has its own file in engine/policy, with one table of
// all.

#include <cstdint>
#include <vector>

#include "engine/core/rank.h"
#include "engine/core/view.h"

namespace muster {

struct PolicyTraits {
  enum class BlockedHeadRule : std::uint8_t {
    kWait,     // No job overtakes the first job that does not fit.
    kSkip,     // Later jobs may overtake it.
    kReserve,  // Jobs that will not delay it, by the estimates, may overtake it (EASY backfill).
    kAlign,    // There is no first job: the plan takes the job that best suits the free nodes.
  };
  BlockedHeadRule when_stuck = BlockedHeadRule::kSkip;
  bool preempts = false;  // Stops a running job that ranks behind a waiting one, to use its GPUs.
  // The rank of a running job gets worse as it runs, so the order changes without an event. Such a
  // policy preempts only at ticks (rounds, or every quantum). Otherwise it would swap jobs
  // endlessly.
  bool drifts = false;
  // The rank of a running job may get worse as it runs, and the policy preempts at every event. The
  // planner then computes all ranks at each plan.
  bool worsens = false;
  // The policy keeps data about jobs between calls. The planner calls submitted() to ended() below.
  bool remembers = false;
};

class Policy {
 public:
  virtual ~Policy() = default;
  virtual PolicyTraits traits() const = 0;

  // Returns the rank of a job; smaller is sooner, and the older job wins a tie. Called when the job
  // starts to wait: the rank, with its slope, must stay valid until the wait ends. If the policy
  // preempts, also called for running jobs at each plan.
  virtual Rank rank(const JobFacts& job) const = 0;

  // For policies with PolicyTraits::remembers. Each call precedes the next rank() of the job.
  virtual void submitted(const JobFacts&) {}  // It starts to wait for the first time.
  virtual void started(const JobFacts&) {}    // This plan gave it GPUs. Called in rank order.
  virtual void stopped(const JobFacts&) {}    // This plan stopped it: it waits again.
  virtual void ended(const JobFacts&, bool /*completed*/) {}

  // Called at the start of each plan: review() for each job that holds GPUs, in no particular
  // order, then reviewed() once. reviewed() adds to `moved` the waiting jobs whose rank has
  // changed.
  virtual void review(const JobFacts&) {}
  virtual void reviewed(Instant /*now*/, std::vector<JobId>& /*moved*/) {}
  // Called after each plan. Returns when ranks change next without an event, or never().
  virtual Instant review_at() const { return Instant::never(); }
};

}  // namespace muster
