#pragma once

// Tiresias' queues: a few by attained service, in strict order. A new job enters the first; one
// that has attained a queue's threshold while running moves to the next. A job that has waited long
// for what it ran (`promote_permille`) returns to the first as if it had never run. Who is next
// inside a queue is for those that derive from this: mlfq-las, mlfq-gittins.

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
  // All the service it got, and that since its last promotion, as the thresholds count it.
  std::int64_t service(const JobFacts& job) const;
  std::int64_t attained(const JobFacts& job) const;
  // A review is due when this running job has got so much more service.
  void expect_review(const JobFacts& job, std::int64_t service_from_now);

 private:
  // What becomes of the order inside the queues.
  virtual void begin_review() {}                  // Before the first review() of a plan.
  virtual void demoted(const JobFacts& job) = 0;  // In review(): it runs, and is in its new queue.
  virtual void promoted(JobId job) = 0;           // In reviewed(): it waits, in the first queue.
  // Whether even in the first queue a job that ran may come to stand behind others for good.
  virtual bool promotes_inside_first() const { return false; }

  struct Place {
    std::int64_t queue = 0;
    bool running = false;
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

  const Duration* threshold_of(JobId job) const;  // Null in the last queue.
  void expect_demotion(const JobFacts& job);

  PolicyOptions options_;
  IdVector<JobId, Place> places_;
  std::vector<std::pair<JobId, Instant>> expected_;  // Reviews of those that ran at the last one.
  std::vector<Promotion> promotions_;                // A heap; some may be void by now.
  bool first_ = true;                                // The next review() is the first of its plan.
};

}  // namespace muster
