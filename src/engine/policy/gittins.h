#pragma once

// Largest Gittins index first, Tiresias' 2D-Gittins without its queues: of the earlier jobs that
// got as much GPU time as this one, how many ended within the next quantum of it, for each
// GPU-second that this took? Needs no estimate of any one job, only what jobs needed before, told
// or learnt (service_history.h); until enough is known it is las. The index moves as a job runs, so
// it swaps at ticks only.
//
// A job whose index is zero, because none of those that got so far ended soon after, or none got so
// far at all, comes last; among such jobs nobody takes GPUs from another, and the oldest is next.
// As under las it may wait for as long as others keep coming: mlfq-gittins promotes it.

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
    // New jobs stand where they will also stand when more is known.
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
