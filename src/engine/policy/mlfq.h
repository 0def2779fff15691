#pragma once

// Tiresias' queues: a few queues by attained service, in strict order. A new job enters the first
// queue. A running job that reaches the queue's threshold moves to the next. A job that has waited
// long relative to its run time (`promote_permille`) returns to the first queue, as if it had never
// run. Derived classes define the order within a queue: mlfq-las, mlfq-gittins.

#include <utility>
#include <vector>

#include "engine/core/policy.h"
#include "engine/policy/options.h"

namespace muster {

class Mlfq : public Policy {
 public:
  PolicyTraits traits() const final {
    PolicyTraits traits;
    traits.preempts = true;
    traits.remembers = true;
    return traits;
  }
  void submitted(const JobFacts& job) override;
  void started(const JobFacts& job) override;
  void stopped(const JobFacts& job) override;
  void ended(const JobFacts& job, bool completed) override;
  void review(const JobFacts& job) override;
  void reviewed(Instant now, std::vector<JobId>& moved) override;
  Instant review_at() const final;

 protected:
  explicit Mlfq(const PolicyOptions& options) : options_(options) {}

  const PolicyOptions& options() const { return options_; }
  std::int64_t queue_of(JobId job) const { return places_[job].queue; }
  bool in_last_queue(JobId job) const { return threshold_of(job) == nullptr; }
  bool is_running(JobId job) const { return places_[job].running; }
  // Total service of the job, and its service since the last promotion, as the thresholds count it.
  std::int64_t service(const JobFacts& job) const;
  std::int64_t attained(const JobFacts& job) const;
  // Requests a review when this running job has received this much more service.
  void expect_review(const JobFacts& job, std::int64_t service_from_now);

 private:
  // Hooks for the order within the queues.
  virtual void begin_review() {}  // Before the first review() of a plan.
  // In review(): it runs and is already in its new queue.
  virtual void demoted(const JobFacts& job) = 0;
  virtual void promoted(JobId job) = 0;  // In reviewed(): it waits in the first queue.
  // The service after which a running job is reviewed for demotion at this threshold.
  virtual std::int64_t until_demotion(const JobFacts& job, Duration threshold) const {
    return threshold.us() - attained(job);
  }
  // Whether a job that ran may stay behind others forever even in the first queue.
  virtual bool promotes_inside_first() const { return false; }

  struct Place {
    std::int64_t queue = 0;
    bool running = false;
    std::int64_t forgotten = 0;  // Service attained before the last promotion.
    std::int64_t served = 0;     // Total service when it began to wait.
    std::uint32_t waits = 0;     // Number of times it began to wait or ended.
  };
  struct Promotion {
    Instant at;
    JobId job;
    std::uint32_t waits;
    friend bool operator>(const Promotion& a, const Promotion& b) {
      return a.at != b.at ? a.at > b.at : a.job > b.job;
    }
  };

  const Duration* threshold_of(JobId job) const;  // nullptr in the last queue.
  void expect_demotion(const JobFacts& job);

  PolicyOptions options_;
  IdVector<JobId, Place> places_;
  // Next reviews of jobs that ran at the last review.
  std::vector<std::pair<JobId, Instant>> expected_;
  std::vector<Promotion> promotions_;  // A heap; may contain void entries.
  bool first_ = true;                  // The next review() is the first of its plan.
};

}  // namespace muster
