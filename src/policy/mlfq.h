#pragma once

// Tiresias' discretised 2D-LAS: a few queues by attained service, in strict order. A new job enters
// at the end of the first queue; one that has attained a queue's threshold while running moves to
// the end of the next. Inside a queue jobs are served in order, running ones before waiting ones,
// so that jobs of one queue do not take GPUs from each other; one that was stopped waits ahead of
// those already waiting. A job that has waited long for what it ran (`promote_permille`) returns to
// the first queue as if it had never run.

#include <vector>

#include "core/policy.h"
#include "policy/options.h"

namespace muster {

class MlfqLas final : public Policy {
 public:
  explicit MlfqLas(const PolicyOptions& options) : options_(options) {}

  PolicyTraits traits() const override {
    PolicyTraits traits;
    traits.preempts = true;
    traits.remembers = true;
    return traits;
  }
  Rank rank(const JobFacts& job) const override;

  void submitted(const JobFacts& job) override;
  void started(const JobFacts& job) override;
  void stopped(const JobFacts& job) override;
  void ended(const JobFacts& job, bool completed) override;
  void review(const JobFacts& job) override;
  void reviewed(Instant now, std::vector<JobId>& moved) override;
  Instant review_at() const override;

 private:
  struct Place {
    std::int64_t queue = 0;
    bool running = false;
    bool demoted = false;        // In the last review, while running: behind those who wait there.
    std::int64_t ahead = 0;      // Waiting: 0 in the order they came, negative before all of those.
    std::int64_t order = 0;      // Among equals of the above.
    std::int64_t forgotten = 0;  // Service attained before the last promotion.
    std::int64_t served = 0;     // All service when it began to wait.
    std::uint32_t waits = 0;     // How often it began to wait.
  };
  struct Promotion {
    Instant at;
    JobId job;
    std::uint32_t waits;
    friend bool operator>(const Promotion& a, const Promotion& b) {
      return a.at != b.at ? a.at > b.at : a.job > b.job;
    }
  };

  std::int64_t attained(const JobFacts& job) const;
  void expect_demotion(const JobFacts& job);

  PolicyOptions options_;
  IdVector<JobId, Place> places_;
  std::vector<JobId> demoted_;                        // In the last review.
  std::vector<std::pair<JobId, Instant>> demotions_;  // Expected, of those that ran at the review.
  std::vector<Promotion> promotions_;                 // A heap; some may be void by now.
  std::int64_t counter_ = 0;
  std::int64_t plans_ = 0;
  bool first_ = true;  // The next review() is the first of its plan.
};

}  // namespace muster
