#pragma once

// Largest Gittins index first: Tiresias' 2D-Gittins without its queues. The index is computed from
// earlier jobs that reached this job's GPU time: the number that ended within the next quantum, per
// GPU-second that they used. It needs no estimate, only the service of earlier jobs, given or
// learned (service_history.h); with too few of them it is las. The index changes while a job runs,
// so it preempts at ticks only.
//
// A job with index zero comes last: no earlier job with as much service ended soon after, or none
// got so far. Such jobs do not preempt each other, and the oldest goes first. As with las, it may
// wait as long as new jobs arrive; mlfq-gittins promotes it.

#include <vector>

#include "base/types/saturate.h"
#include "engine/core/policy.h"
#include "engine/policy/options.h"
#include "engine/policy/service_history.h"

namespace muster {

class Gittins final : public Policy {
 public:
  explicit Gittins(const PolicyOptions& options)
      : quantum_(options.gittins_quantum.us()),
        history_(options.service, /*levels=*/1),
        of_new_(history_.index(0, quantum_)) {}

  PolicyTraits traits() const override {
    PolicyTraits traits;
    traits.preempts = true;
    traits.drifts = true;
    traits.remembers = true;
    return traits;
  }
  Rank rank(const JobFacts& job) const override {
    // A new job keeps its rank when the distribution becomes known.
    if (!history_.is_known()) return {saturating_add(job.gpu_us, 1)};
    return rank_by_index(/*level=*/0, history_.index(job.gpu_us, quantum_), of_new_);
  }

  void started(const JobFacts& job) override { history_.set_waiting(job.id, false); }
  void stopped(const JobFacts& job) override { history_.set_waiting(job.id, job.gpu_us > 0); }
  void ended(const JobFacts& job, bool completed) override {
    history_.set_waiting(job.id, false);
    if (completed) history_.completed(job.gpu_us);
  }
  void reviewed(Instant /*now*/, std::vector<JobId>& moved) override {
    if (history_.renew(moved)) of_new_ = history_.index(0, quantum_);
  }

 private:
  std::int64_t quantum_;
  ServiceHistory history_;
  GittinsIndex of_new_;
};

}  // namespace muster
