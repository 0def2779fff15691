#pragma once

// The queue of Gandiva's scheduler, with tenant accounting and wait causes. Waiting jobs of one
// tenant, size and GPU type form a group. A plan looks only at the oldest job of each group, so its
// cost does not grow with the queue. The queue decides the order, not the placement.

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "engine/chain/tenancy.h"
#include "engine/core/view.h"
#include "engine/core/waiting.h"

namespace muster {

class GandivaQueue {
 public:
  struct Group {
    TenantId tenant;
    std::int32_t gpus = 1;
    std::optional<GpuTypeId> gpu_type;
    // The waiting jobs, each with the time of its arrival or of its last turn; see defer().
    std::set<std::pair<Instant, JobId>> jobs;
    Instant oldest_since;  // When the current oldest job became the oldest.
    bool out = false;      // No job of the group can start in this plan.
    WaitCauseTimer clock;

    JobId oldest() const { return jobs.begin()->second; }
  };

  // `tenants` may be nullptr: then every job counts as entitled.
  GandivaQueue(const Cluster& cluster, const TenantTree* tenants);

  void add(const View& view, JobId job);
  void remove(const View& view, JobId job);  // CHECKs that it waits.
  // Puts a job that will wait again behind the jobs that wait now.
  void defer(JobId job, Instant now) { tickets_[job].since = now; }
  bool waits(JobId job) const { return tickets_.contains(job) && tickets_[job].waits; }
  bool empty() const { return waiting_ == 0; }
  std::int64_t waiting_gpus() const { return waiting_gpus_; }  // Sum over all waiting jobs.

  // Adds or removes a job's GPUs from its tenant's usage: the whole gang, even if it shares its
  // GPUs.
  void charge(const JobSpec& spec);
  void refund(const JobSpec& spec);
  // True if `gpus` more GPUs are within the tenant's entitlement.
  bool is_own(TenantId tenant, std::int32_t gpus) const {
    return !tenancy_ || tenancy_->within(tenant, gpus);
  }
  // Remaining entitlement of the tenant in GPUs; negative if it has borrowed.
  std::int64_t room(TenantId tenant) const { return tenancy_->room(tenant); }
  // True if the job's tenant uses more than its entitlement.
  bool is_lent(const JobSpec& spec) const { return tenancy_ && !tenancy_->within(spec.tenant, 0); }
  bool has_tenants() const { return tenancy_.has_value(); }
  bool may_reclaim(std::int32_t free_gpus) const {
    return tenancy_ && tenancy_->may_reclaim(free_gpus);
  }

  void begin_plan();
  // Returns the next group, or nullptr. Considers groups that are not `out` and that are entitled
  // (`own`) or would borrow (not `own`). Marks a group as `out` if worth_a_try() is false for it.
  Group* next(bool own, const std::function<bool(const Group&)>& worth_a_try);
  std::vector<Group>& groups() { return groups_; }  // Some are empty.
  const std::vector<Group>& groups() const { return groups_; }

  void note_causes(const ResourceLedger& ledger, Instant now);
  WaitSplit waited(JobId job, Instant now) const;

 private:
  struct Ticket {
    bool known = false;  // The job has waited before.
    bool waits = false;
    std::uint32_t group = 0;
    Instant since;     // See Group::jobs.
    WaitSplit waited;  // While it waits, see WaitCauseTimer.
  };
  std::uint32_t group_of(const JobSpec& spec);

  std::optional<Tenancy> tenancy_;
  IdVector<JobId, Ticket> tickets_;
  std::vector<Group> groups_;
  std::size_t waiting_ = 0;
  std::int64_t waiting_gpus_ = 0;
};

}  // namespace muster
