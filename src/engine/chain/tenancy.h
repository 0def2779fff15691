#pragma once

// Whose turn it is: what each tenant is entitled to, what it holds in the plan being made, and so
// whether the next job is its own right or borrowed. Above any policy, which orders jobs only; the
// Chain asks here first. It counts GPUs and decides nothing about places.

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

  // Users inside a tenant take turns too.
  bool by_user() const { return tree_->sharing() == Sharing::kFair; }

  // Kept up to date between plans: what a tenant's waiting jobs want in all.
  void want(TenantId tenant, std::int32_t gpus);  // Negative when it no longer does.

  // At the beginning of a plan: nobody holds anything; charge() for each job that does, then
  // share_out() once.
  void begin();
  void charge(TenantId tenant, UserId user, std::int32_t gpus);  // Negative to give back.
  void charge(const JobSpec& job) { charge(job.tenant, job.user, job.gpus); }
  void refund(const JobSpec& job) { charge(job.tenant, job.user, -job.gpus); }
  void share_out();

  std::int64_t used(TenantId tenant) const { return accounts_[tenant].used; }
  std::int64_t part(TenantId tenant) const { return accounts_[tenant].part; }

  // With this many GPUs more the tenant would still hold no more than its part. Then so would all
  // above it, if nobody beside it or them borrowed: what those do is theirs to give back.
  bool within(TenantId tenant, std::int32_t gpus) const { return gpus <= room(tenant); }
  std::int64_t room(TenantId tenant) const { return part(tenant) - used(tenant); }

  // How far away it would have to borrow them: 0 when within, otherwise the fewer levels from the
  // top down hold, without a gap, no more than their part, the farther; up to farthest().
  std::size_t distance(TenantId tenant, std::int32_t gpus) const;
  std::size_t farthest() const { return deepest_; }
  // Charges only those above the tenant that one so far away counts against.
  void charge_lender(TenantId tenant, std::size_t distance, std::int32_t gpus);
  // Whether what a has, so far away, it has a better right to than b to its own: where the two part
  // a is within its part and b is not.
  bool outranks(TenantId a, std::size_t distance_a, TenantId b, std::size_t distance_b) const;

  // Whose turn is sooner: negative, zero or positive. By quota all are level and the policy
  // decides; otherwise whoever holds least for its weight, level by level, then which user holds
  // least.
  int compare_turns(TenantId a, UserId user_a, TenantId b, UserId user_b) const;

  // Whether the cluster is so full that what was lent may be taken back.
  bool may_reclaim(std::int32_t free_gpus) const;

 private:
  struct Account {
    std::int64_t used = 0;
    std::int64_t wanted = 0;  // By waiting jobs.
    std::int64_t part = 0;    // GPUs it is entitled to now.
  };
  std::int64_t weight(TenantId tenant) const;
  std::size_t levels_within(TenantId tenant, std::size_t distance) const;
  void divide(const std::vector<TenantId>& beside, std::int64_t gpus);
  std::int64_t used_by(TenantId tenant, UserId user) const;

  const TenantTree* tree_;
  std::int64_t total_gpus_;
  std::size_t deepest_ = 0;  // Levels of the tree.
  IdVector<TenantId, Account> accounts_;
  std::map<std::pair<TenantId, UserId>, std::int64_t> by_user_;
};

}  // namespace muster
