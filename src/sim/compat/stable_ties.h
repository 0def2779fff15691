#pragma once

// The order of equal ranks in Tiresias' simulator. It sorts one list of all jobs at every event,
// and the sort keeps the previous order of equal jobs. In Muster's own order, a running job keeps
// its GPUs in a tie.

#include <cstdint>
#include <utility>
#include <vector>

#include "base/types/owned.h"
#include "engine/core/policy.h"

namespace muster {

enum class TieRule : std::uint8_t {
  // Prefers the job that reached the rank first, even over a running job. Equals the stable sort if
  // ranks get better as jobs run.
  kReachedFirst,
  kOlder,  // Prefers the older job, as in the paper; for ranks that get worse.
};

// Adds a tie rule to another policy.
class StableTies final : public Policy {
 public:
  StableTies(Owned<Policy> policy, TieRule rule) : policy_(std::move(policy)), rule_(rule) {}

  PolicyTraits traits() const override;
  Rank rank(const JobFacts& job) const override;
  void submitted(const JobFacts& job) override { policy_->submitted(job); }
  void started(const JobFacts& job) override { policy_->started(job); }
  void stopped(const JobFacts& job) override { policy_->stopped(job); }
  void ended(const JobFacts& job, bool completed) override { policy_->ended(job, completed); }
  void review(const JobFacts& job) override { policy_->review(job); }
  void reviewed(Instant now, std::vector<JobId>& moved) override { policy_->reviewed(now, moved); }
  Instant review_at() const override { return policy_->review_at(); }

 private:
  Owned<Policy> policy_;
  TieRule rule_;
};

}  // namespace muster
