#pragma once

// Tiresias' discretized 2D-Gittins: its queues (mlfq.h), with the largest Gittins index (gittins.h)
// first in each queue. The quantum is the threshold of the queue. The last queue uses the quantum
// of the queue before it or, if it is the only queue, `gittins_quantum`. It needs no estimate, only
// the service of earlier jobs, given or learned (service_history.h). Until enough jobs have
// completed, all indices are equal.
//
// The index is the value of a whole quantum. So it decides which job gets the next quantum, and a
// running quantum is not interrupted for a job of the same queue. It ends with demotion or, in the
// last queue, after that much service. Then the running job is compared with the waiting jobs; it
// stays in a tie. Among waiting jobs with equal indices, the oldest is next. (The index usually
// falls with service. With a comparison at every event, each arrival would preempt a job of its own
// queue, which the queues are meant to prevent.)
//
// The index uses the service since the last promotion, as do the queues. (With the total service, a
// promoted job would be last in the first queue.) For the same reason a job that was stopped in the
// first queue is promoted too. So, with promotion enabled, no job waits forever: a job with index
// zero is last in its queue only until its promotion.

#include <vector>

#include "engine/policy/mlfq.h"
#include "engine/policy/service_history.h"

namespace muster {

class MlfqGittins : public Mlfq {
 public:
  explicit MlfqGittins(const PolicyOptions& options);

  Rank rank(const JobFacts& job) const override;
  void submitted(const JobFacts& job) override;
  void started(const JobFacts& job) override;
  void stopped(const JobFacts& job) override;
  void ended(const JobFacts& job, bool completed) override;
  void review(const JobFacts& job) override;
  void reviewed(Instant now, std::vector<JobId>& moved) override;

 private:
  struct Quantum {
    // Attained service at its start; if the job waits, at its possible start.
    std::int64_t begin = 0;
    GittinsIndex index;  // Index for `begin`; for begin == 0 the queue's `of_new` applies.
    bool over = false;   // In this plan: the job runs and competes for the next quantum.
  };
  struct Queue {
    std::int64_t quantum = 0;  // Length, as service.
    GittinsIndex of_new;       // Index of a job without service.
  };

  void begin_review() override { reviewed_.clear(); }
  void demoted(const JobFacts& job) override { end_quantum(job); }
  void promoted(JobId job) override { set_quantum(job, 0); }
  bool promotes_inside_first() const override { return true; }

  const Queue& queue(JobId job) const { return queues_[static_cast<std::size_t>(queue_of(job))]; }
  void set_quantum(JobId job, std::int64_t begin);
  void end_quantum(const JobFacts& job);
  void expect_end(const JobFacts& job);

  std::vector<Queue> queues_;
  IdVector<JobId, Quantum> quanta_;
  std::vector<JobId> reviewed_;  // Jobs reviewed in the last plan with running jobs.
  ServiceHistory history_;
};

}  // namespace muster
