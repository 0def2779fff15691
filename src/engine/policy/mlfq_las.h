#pragma once

// Tiresias' discretized 2D-LAS: its queues (mlfq.h), each in order of arrival. A job enters a queue
// at its end. Running jobs precede waiting jobs, so that jobs of one queue do not preempt each
// other. A stopped job waits ahead of the other waiting jobs. Needs no estimate.

#include <vector>

#include "engine/policy/mlfq.h"

namespace muster {

class MlfqLas : public Mlfq {
 public:
  explicit MlfqLas(const PolicyOptions& options) : Mlfq(options) {}

  Rank rank(const JobFacts& job) const override;
  void submitted(const JobFacts& job) override;
  void started(const JobFacts& job) override;
  void stopped(const JobFacts& job) override;
  void reviewed(Instant now, std::vector<JobId>& moved) override;

 private:
  struct Turn {
    // Demoted in the last review while running: behind the jobs that wait there.
    bool demoted = false;
    std::int64_t ahead = 0;  // While waiting: 0 for order of arrival; negative: ahead of those.
    std::int64_t order = 0;  // Breaks ties of the fields above.
  };

  void begin_review() override;
  void demoted(const JobFacts& job) override;
  void promoted(JobId job) override;

  IdVector<JobId, Turn> turns_;
  std::vector<JobId> demoted_;  // Jobs demoted in the last review.
  std::int64_t counter_ = 0;
  std::int64_t plans_ = 0;
};

}  // namespace muster
