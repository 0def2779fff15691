#pragma once

// Who waits for Gandiva's scheduler, what their tenants hold and are owed, and what the waiting is
// for. Jobs of one tenant, size and GPU type form a group: they fare alike, so that a plan looks at
// the oldest of each and its cost does not grow with the queue. Says whose turn it is, and decides
// nothing about places.

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
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
    std::set<JobId> jobs;
    Instant oldest_since;  // When the one that is the oldest became it.
    bool out = false;      // Nothing for any of them in this plan.
    CauseClock clock;

    JobId oldest() const { return *jobs.begin(); }
  };

  // Null: nobody has a part, and everything is everybody's right.
  GandivaQueue(const Cluster& cluster, const TenantTree* tenants);

  void add(const View& view, JobId job);
  void remove(const View& view, JobId job);  // CHECKs that it waits.
  bool waits(JobId job) const { return tickets_.contains(job) && tickets_[job].waits; }
  bool empty() const { return waiting_ == 0; }

  // What the tenant of a job holds by it: the whole gang, also of one that shares its GPUs.
  void charge(const JobSpec& spec);
  void refund(const JobSpec& spec);
  // One more of these would be within its tenant's part.
  bool is_own(TenantId tenant, std::int32_t gpus) const {
    return !tenancy_ || tenancy_->within(tenant, gpus);
  }
  // GPUs that the tenant may have beyond what it holds; below zero if it has borrowed.
  std::int64_t room(TenantId tenant) const { return tenancy_->room(tenant); }
  // Its tenant holds more than its part.
  bool is_lent(const JobSpec& spec) const { return tenancy_ && !tenancy_->within(spec.tenant, 0); }
  bool has_tenants() const { return tenancy_.has_value(); }
  bool may_reclaim(std::int32_t free_gpus) const {
    return tenancy_ && tenancy_->may_reclaim(free_gpus);
  }

  void begin_plan();
  // The group whose turn it is, of those that are not out and ask for their own, or for a favour.
  // Whoever is not worth a try is out then.
  Group* next(bool own, const std::function<bool(const Group&)>& worth_a_try);
  std::vector<Group>& groups() { return groups_; }  // Some are empty.
  const std::vector<Group>& groups() const { return groups_; }

  void note_causes(const Books& books, Instant now);
  WaitSplit waited(JobId job, Instant now) const;

 private:
  struct Ticket {
    bool known = false;  // Has waited before.
    bool waits = false;
    std::uint32_t group = 0;
    WaitSplit waited;  // While it waits, see CauseClock.
  };
  std::uint32_t group_of(const JobSpec& spec);

  std::optional<Tenancy> tenancy_;
  IdVector<JobId, Ticket> tickets_;
  std::vector<Group> groups_;
  std::size_t waiting_ = 0;
};

}  // namespace muster
