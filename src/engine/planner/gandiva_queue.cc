#include "engine/planner/gandiva_queue.h"

#include "base/types/check.h"
#include "engine/planner/class_order.h"

namespace muster {

GandivaQueue::GandivaQueue(const Cluster& cluster, const TenantTree* tenants) {
  if (tenants != nullptr) tenancy_.emplace(*tenants, cluster.topology().total().gpus);
}

std::uint32_t GandivaQueue::group_of(const JobSpec& spec) {
  const TenantId tenant = tenancy_ ? spec.tenant : TenantId();
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const Group& group = groups_[i];
    if (group.tenant == tenant && group.gpus == spec.gpus && group.gpu_type == spec.gpu_type) {
      return static_cast<std::uint32_t>(i);
    }
  }
  Group& fresh = groups_.emplace_back();
  fresh.tenant = tenant;
  fresh.gpus = spec.gpus;
  fresh.gpu_type = spec.gpu_type;
  return static_cast<std::uint32_t>(groups_.size() - 1);
}

void GandivaQueue::add(const View& view, JobId job) {
  if (tickets_.size() < view.job_count()) tickets_.resize(view.job_count());
  const JobSpec& spec = view.spec(job);
  Ticket& ticket = tickets_[job];
  MUSTER_CHECK(!ticket.waits);
  if (!ticket.known) {
    ticket.waited.over_part_on_arrival = !is_own(spec.tenant, spec.gpus);
    ticket.since = view.now();
  }
  ticket.known = ticket.waits = true;
  ticket.group = group_of(spec);
  Group& group = groups_[ticket.group];
  group.jobs.insert({ticket.since, job});
  if (group.oldest() == job) group.oldest_since = view.now();
  group.clock.join(ticket.waited, view.now());
  ++waiting_;
  waiting_gpus_ += spec.gpus;
  if (tenancy_) tenancy_->want(spec.tenant, spec.gpus);
}

void GandivaQueue::remove(const View& view, JobId job) {
  const JobSpec& spec = view.spec(job);
  Ticket& ticket = tickets_[job];
  MUSTER_CHECK(ticket.waits);
  ticket.waits = false;
  Group& group = groups_[ticket.group];
  if (group.oldest() == job) group.oldest_since = view.now();
  group.jobs.erase({ticket.since, job});
  group.clock.leave(ticket.waited, view.now());
  --waiting_;
  waiting_gpus_ -= spec.gpus;
  if (tenancy_) tenancy_->want(spec.tenant, -spec.gpus);
}

void GandivaQueue::charge(const JobSpec& spec) {
  if (tenancy_) tenancy_->charge(spec);
}

void GandivaQueue::refund(const JobSpec& spec) {
  if (tenancy_) tenancy_->refund(spec);
}

void GandivaQueue::begin_plan() {
  for (Group& group : groups_) group.out = false;
  if (tenancy_) tenancy_->share_out();
}

GandivaQueue::Group* GandivaQueue::next(bool own,
                                        const std::function<bool(const Group&)>& worth_a_try) {
  Group* best = nullptr;
  Turn first;
  for (Group& group : groups_) {
    if (group.out || group.jobs.empty() || is_own(group.tenant, group.gpus) != own) continue;
    if (!worth_a_try(group)) {
      group.out = true;
      continue;
    }
    const Turn turn{own, group.tenant, group.oldest()};
    if (best != nullptr && !is_sooner(tenancy_, turn, first)) continue;
    best = &group;
    first = turn;
  }
  return best;
}

void GandivaQueue::note_causes(const ResourceLedger& ledger, Instant now) {
  for (Group& group : groups_) {
    if (group.jobs.empty()) continue;
    const bool own = is_own(group.tenant, group.gpus);
    group.clock.set(cause_of_waiting(own, group.gpus, ledger.free_gpus(group.gpu_type)), now);
  }
}

WaitSplit GandivaQueue::waited(JobId job, Instant now) const {
  if (!tickets_.contains(job)) return {};
  const Ticket& ticket = tickets_[job];
  WaitSplit split = ticket.waited;
  if (ticket.waits) split += groups_[ticket.group].clock.at(now);
  return split;
}

}  // namespace muster
