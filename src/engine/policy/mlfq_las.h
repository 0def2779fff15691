#pragma once

// Tiresias' discretised 2D-LAS: its queues (mlfq.h), served in order. Jobs that enter a queue go to
// its end. Running ones stand before waiting ones, so that jobs of one queue do not take GPUs from
// each other; one that was stopped waits ahead of those already waiting. Needs no estimate.

#include <vector>

#include "engine/policy/mlfq.h"

namespace muster {

class MlfqLas final : public Mlfq {
 public:
  explicit MlfqLas(const PolicyOptions& options) : Mlfq(options) {}

  Rank rank(const JobFacts& job) const override;
  void submitted(const JobFacts& job) override;
  void started(const JobFacts& job) override;
  void stopped(const JobFacts& job) override;
  void reviewed(Instant now, std::vector<JobId>& moved) override;

 private:
  struct Turn {
    bool demoted = false;    // In the last review, while running: behind those who wait there.
    std::int64_t ahead = 0;  // Waiting: 0 in the order they came, negative before all of those.
    std::int64_t order = 0;  // Among equals of the above.
  };

  void begin_review() override;
  void demoted(const JobFacts& job) override;
  void promoted(JobId job) override;

  IdVector<JobId, Turn> turns_;
  std::vector<JobId> demoted_;  // In the last review.
  std::int64_t counter_ = 0;
  std::int64_t plans_ = 0;
};

}  // namespace muster
