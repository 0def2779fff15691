#pragma once

// Tiresias' discretised 2D-Gittins: its queues (mlfq.h), and inside a queue the largest Gittins
// index first (gittins.h says what that is). The quantum is the threshold at which a job leaves the
// queue; the last queue has none and takes that of the queue before, or, if it is the only one,
// `gittins_quantum`. Needs no estimate, only what jobs needed before, told or learnt
// (service_history.h); until enough is known all indices are equal.
//
// The index says what a whole quantum is worth. So it decides who gets the next one, and a quantum
// once begun is not cut short for a job of the same queue: it ends with demotion or, in the last
// queue, after that much service. Only then the running job is weighed against those who wait
// there, and stays if it is level; of those who wait on a level the oldest is next. (Weighed at
// every event instead, where the index falls with service, as it mostly does, each arrival would
// take GPUs from a job of its own queue, and the queues are there to prevent that.)
//
// The index is that of the service since the last promotion, as the queues are. (By all service a
// promoted job would stand last in the first queue, and wait on.) For the same reason a job that
// was stopped inside the first queue is promoted too. So, unless promotion is off, nobody waits for
// ever: a job whose index is zero comes last in its queue, but only until it is promoted.

#include <vector>

#include "engine/policy/mlfq.h"
#include "engine/policy/service_history.h"

namespace muster {

class MlfqGittins final : public Mlfq {
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
    std::int64_t begin = 0;  // Service attained when it began or, if the job waits, would begin.
    GittinsIndex index;      // Of that, unless it is nothing: then it is that of new jobs.
    bool over = false;       // In this plan: the job runs, and is weighed for the next.
  };
  struct Queue {
    std::int64_t quantum = 0;  // How long.
    GittinsIndex of_new;       // A job that had nothing.
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
  std::vector<JobId> reviewed_;  // In the last plan in which anybody ran.
  ServiceHistory history_;
};

}  // namespace muster
