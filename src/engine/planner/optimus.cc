#include "engine/planner/optimus.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/types/check.h"

namespace muster {

Optimus::Optimus(const Cluster& cluster, const OptimusOptions& options)
    : cluster_(&cluster),
      options_(options),
      belief_(options.rule, cluster.profiles().size()),
      pools_(cluster.topology().gpu_type_count()) {
  MUSTER_CHECK(options.restart_cost >= Duration());
  if (options.tenants != nullptr) {
    tenancy_.emplace(*options.tenants, cluster.topology().total().gpus);
  }
}

std::optional<std::string> Optimus::refuse(const JobSpec& spec) {
  if (spec.is_particular())
    return "requests CPUs, memory or a spread, which Optimus does not support";
  const std::int32_t least = spec.fewest_gpus();
  if (least > spec.most_gpus()) {
    return fmt::format("minimum number of GPUs, {}, is above the maximum, {}", least,
                       spec.most_gpus());
  }
  JobSpec smallest = spec;
  smallest.gpus = least;
  if (std::optional<std::string> why = cluster_->why_never(smallest)) return why;
  std::int32_t largest_pool = 0;
  for (std::size_t i = 0; i < pools_.size(); ++i) {
    largest_pool = std::max(largest_pool, cluster_->topology().gpus_of_type(GpuTypeId(i)));
  }
  if (least <= largest_pool) return std::nullopt;
  return fmt::format("needs {} GPUs of one type, there are at most {}", least, largest_pool);
}

std::uint32_t Optimus::group_of(const JobSpec& spec) {
  const TenantId tenant = tenancy_ ? spec.tenant : TenantId();
  const std::int32_t least = spec.fewest_gpus();
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const Group& group = groups_[i];
    if (group.tenant == tenant && group.least == least && group.gpu_type == spec.gpu_type) {
      return static_cast<std::uint32_t>(i);
    }
  }
  groups_.push_back({tenant, least, spec.gpu_type, {}, {}, {}});
  return static_cast<std::uint32_t>(groups_.size() - 1);
}

// GPUs that count for its tenant's entitlement: as many as an elastic job could use.
std::int32_t Optimus::wanted_by(const JobSpec& spec) const {
  return std::min(spec.most_gpus(), cluster_->topology().total().gpus);
}

void Optimus::charge(const JobSpec& spec, std::int64_t gpus) {
  if (tenancy_) tenancy_->charge(spec.tenant, spec.user, static_cast<std::int32_t>(gpus));
}

void Optimus::enqueue(const View& view, JobId job) {
  if (tickets_.size() < view.job_count()) tickets_.resize(view.job_count());
  const JobSpec& spec = view.spec(job);
  Ticket& ticket = tickets_[job];
  MUSTER_CHECK(!ticket.waits);
  if (!ticket.seen && tenancy_) {
    ticket.waited.over_part_on_arrival = !tenancy_->within(spec.tenant, spec.fewest_gpus());
  }
  if (!ticket.known) {
    ++known_;
    if (tenancy_) tenancy_->want(spec.tenant, wanted_by(spec));
  }
  ticket.seen = ticket.known = ticket.waits = true;
  ticket.group = group_of(spec);
  Group& group = groups_[ticket.group];
  group.queued.insert(job);
  group.clock.join(ticket.waited, view.now());
}

bool Optimus::resume(const View& view, Draft& draft, JobId job, Placement placement) {
  const std::int32_t gpus = total_of(placement).gpus;
  if (!draft.start(job, std::move(placement))) return false;
  note_start(view, job);
  charge(view.spec(job), gpus);
  return true;
}

void Optimus::revised(const View& /*view*/, JobId job) { tickets_[job].predicted = true; }

void Optimus::forget(const View& view, JobId job, JobExit job_exit) {
  const JobSpec& spec = view.spec(job);
  Ticket& ticket = tickets_[job];
  MUSTER_CHECK(ticket.known);
  ticket.known = false;
  --known_;
  if (tenancy_) tenancy_->want(spec.tenant, -wanted_by(spec));
  if (view.is_placed(job)) charge(spec, -total_of(view.placement(job)).gpus);
  // A failed job may be retried, and then resumes from its checkpoint.
  if (job_exit == JobExit::kCompleted) belief_.forget(job);
  if (!ticket.waits) return;
  ticket.waits = false;
  groups_[ticket.group].queued.erase(job);
  groups_[ticket.group].clock.leave(ticket.waited, view.now());
}

void Optimus::observe(const View& view, const JobReported& report) {
  if (!view.is_placed(report.job)) return;
  const JobSpec& spec = view.spec(report.job);
  belief_.learn(report, view.now(), spec.profile, total_of(view.placement(report.job)).gpus,
                spec.fewest_gpus() < spec.most_gpus());
}

void Optimus::observe(const View& /*view*/, const TypeMeasured& trial) { belief_.learn(trial); }

void Optimus::plan(const View& view, Draft& draft, PlanTrigger /*trigger*/) {
  last_plan_ = view.now();
  gather(view);
  keep_safe(view);
  if (tenancy_) share_out(view, Right::kOwn);
  share_out(view, Right::kAny);
  write(view, draft);
  note_causes(view, draft);
}

// Gains change while jobs run, so every round is planned while there are jobs.
Instant Optimus::review_at() const {
  return known_ == 0 ? Instant::never() : last_plan_ + Duration::seconds(1);
}

void Optimus::note_start(const View& view, JobId job) {
  Ticket& ticket = tickets_[job];
  ticket.waits = false;
  groups_[ticket.group].queued.erase(job);
  groups_[ticket.group].clock.leave(ticket.waited, view.now());
}

void Optimus::note_causes(const View& view, const Draft& draft) {
  for (Group& group : groups_) {
    WaitCause cause = WaitCause::kOrder;  // Also for jobs that arrive before the next round.
    if (!group.queued.empty()) {
      if (tenancy_ && !tenancy_->within(group.tenant, group.least)) {
        cause = WaitCause::kFairShare;
      } else if (!is_awaited(group.gpu_type) &&
                 draft.ledger().free_gpus(group.gpu_type) >= group.least) {
        cause = WaitCause::kFragmentation;
      }
    }
    group.clock.set(cause, view.now());
  }
}

WaitSplit Optimus::waited(JobId job, Instant now) const {
  if (!tickets_.contains(job)) return {};
  const Ticket& ticket = tickets_[job];
  WaitSplit split = ticket.waited;
  if (ticket.waits) split += groups_[ticket.group].clock.at(now);
  return split;
}

}  // namespace muster
