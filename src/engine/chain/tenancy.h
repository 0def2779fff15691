#pragma once

// GPU accounts of tenants within one plan: the entitlement and the usage of each tenant, and
// whether its next job is within its entitlement or borrows. Planners ask this before the policy,
// which only orders jobs. It counts GPUs and does not decide on places. Part means entitlement.

#include <cstdint>
#include <map>
#include <utility>

#include "base/types/id.h"
#include "engine/model/job_spec.h"
#include "engine/model/tenants.h"

namespace muster {

class Tenancy {
 public:
  // `tree` must outlive this and have passed check(total_gpus).
  Tenancy(const TenantTree& tree, std::int32_t total_gpus);

  // Whether the users of a tenant take turns, too.
  bool by_user() const { return tree_->sharing() == Sharing::kFair; }

  // Adds to the total request of the waiting jobs of a tenant. Callers keep it current between
  // plans.
  void want(TenantId tenant, std::int32_t gpus);  // Negative: a job no longer waits.

  // Call begin() at the start of a plan to clear the usage, then charge() for each job that holds
  // GPUs, then share_out() once to compute the entitlements.
  void begin();
  void charge(TenantId tenant, UserId user, std::int32_t gpus);  // Negative: release.
  void charge(const JobSpec& job) { charge(job.tenant, job.user, job.gpus); }
  void refund(const JobSpec& job) { charge(job.tenant, job.user, -job.gpus); }
  void share_out();

  std::int64_t used(TenantId tenant) const { return accounts_[tenant].used; }
  std::int64_t part(TenantId tenant) const { return accounts_[tenant].part; }

  // Whether the tenant stays within its entitlement with `gpus` more GPUs. If so, all its ancestors
  // also stay within theirs, unless other tenants borrow. Borrowed GPUs can be reclaimed.
  bool within(TenantId tenant, std::int32_t gpus) const { return gpus <= room(tenant); }
  std::int64_t room(TenantId tenant) const { return part(tenant) - used(tenant); }

  // Returns 0 if within(). Otherwise returns how far away the tenant must borrow, up to farthest().
  // The value grows with the number of levels, counted from the top, that would exceed their
  // entitlement.
  std::size_t distance(TenantId tenant, std::int32_t gpus) const;
  std::size_t farthest() const { return deepest_; }
  // Charges only the ancestors that still count at this distance.
  void charge_lender(TenantId tenant, std::size_t distance, std::int32_t gpus);
  // Whether `a` has a better claim to its GPUs than `b`: at the level where their paths separate,
  // `a` is within its entitlement and `b` is not.
  bool outranks(TenantId a, std::size_t distance_a, TenantId b, std::size_t distance_b) const;

  // Returns a negative value, zero or a positive value if `a` is served before, equal to or after
  // `b`. Always zero with Sharing::kQuota: the policy decides. Otherwise the tenant with the least
  // usage per weight is first, level by level, then the user with the least usage.
  int compare_turns(TenantId a, UserId user_a, TenantId b, UserId user_b) const;

  // Whether enough GPUs are in use (TenantRules::reclaim_permille) to reclaim lent GPUs.
  bool may_reclaim(std::int32_t free_gpus) const;

 private:
  struct Account {
    std::int64_t used = 0;
    std::int64_t wanted = 0;  // Request of waiting jobs.
    std::int64_t part = 0;    // Entitlement in GPUs.
  };
  std::int64_t weight(TenantId tenant) const;
  std::size_t levels_within(TenantId tenant, std::size_t distance) const;
  void divide(const std::vector<TenantId>& beside, std::int64_t gpus);
  std::int64_t used_by(TenantId tenant, UserId user) const;

  const TenantTree* tree_;
  std::int64_t total_gpus_;
  std::size_t deepest_ = 0;  // Number of levels of the tree.
  IdVector<TenantId, Account> accounts_;
  std::map<std::pair<TenantId, UserId>, std::int64_t> by_user_;
};

}  // namespace muster
