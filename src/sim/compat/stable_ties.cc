#include "sim/compat/stable_ties.h"

#include <algorithm>

#include "base/types/saturate.h"

namespace muster {

PolicyTraits StableTies::traits() const {
  PolicyTraits traits = policy_->traits();
  if (rule_ == TieRule::kReachedFirst) traits.worsens = true;
  return traits;
}

Rank StableTies::rank(const JobFacts& job) const {
  Rank rank = policy_->rank(job);
  if (rule_ == TieRule::kOlder) {
    rank.tie = static_cast<std::int64_t>(job.id.index());
    return rank;
  }
  // If two jobs reached the rank now, the one with fewer GPUs took longer. A job that was just
  // submitted comes last.
  const bool fresh = job.gpu_us == 0 && job.held == nullptr;
  rank.tie = saturating_add(saturating_multiply(job.last_ran.us(), 1024),
                            fresh ? 1023 : std::min(job.gpus, 1022));
  return rank;
}

}  // namespace muster
