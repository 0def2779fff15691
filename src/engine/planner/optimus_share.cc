// Optimus: the number of GPUs per job in a round.

#include <algorithm>

#include "base/types/check.h"
#include "engine/planner/optimus.h"

namespace muster {

namespace {

// Factor of the Optimus paper on the gain of a job with few reports.
constexpr double kEarlyPriority = 0.95;

bool allows(std::optional<GpuTypeId> type, GpuTypeId pool) { return !type || *type == pool; }

}  // namespace

void Optimus::gather(const View& view) {
  for (std::size_t i = 0; i < pools_.size(); ++i) {
    const std::int32_t free = view.ledger().free_gpus(GpuTypeId(i));
    pools_[GpuTypeId(i)] = {free, free, free, false};
  }
  candidates_.clear();
  for (const JobId job : view.placed()) {
    const Placement& placement = view.placement(job);
    Candidate candidate;
    candidate.job = job;
    candidate.pool = cluster_->topology().node(placement.front().node).gpu_type;
    for (const Share& share : placement) candidate.held += share.gpus();
    pools_[candidate.pool].left += candidate.held;
    pools_[candidate.pool].unclaimed += candidate.held;
    candidates_.push_back(candidate);
  }
  placed_ = candidates_.size();
  std::sort(candidates_.begin(), candidates_.end(),
            [](const Candidate& a, const Candidate& b) { return a.job < b.job; });
  for (Group& group : groups_) group.next = group.queued.begin();
}

// Computes the entitlements from the demand, and charges current usage to the tenants.
void Optimus::charge_held(const View& view) {
  tenancy_->begin();
  tenancy_->share_out();
  for (const Candidate& each : candidates_) charge(view.spec(each.job), each.held);
}

// Keeps jobs that are too young to be stopped or resized. If the cluster is not full enough to
// reclaim GPUs, also keeps jobs of tenants above their entitlement.
void Optimus::keep_safe(const View& view) {
  bool may_reclaim = true;
  if (tenancy_) {
    charge_held(view);
    may_reclaim = tenancy_->may_reclaim(view.ledger().free_gpus());
  }
  for (Candidate& each : candidates_) {
    const bool young = view.held_since(each.job) + options_.min_run > view.now();
    each.safe = young || (!may_reclaim && !tenancy_->within(view.spec(each.job).tenant, 0));
  }
  if (tenancy_) tenancy_->begin();
  for (Candidate& each : candidates_) {
    if (!each.safe) continue;
    each.give = each.held;
    pools_[each.pool].left -= each.held;
    charge(view.spec(each.job), each.held);
  }
  may_await_ = may_reclaim && options_.min_run > Duration();
}

bool Optimus::within(TenantId tenant, std::int32_t gpus, Right right) const {
  return right == Right::kAny || tenancy_->within(tenant, gpus);
}

// Returns the GPU type for a new job, or nullopt. Prefers idle GPUs, then the type with the most.
std::optional<GpuTypeId> Optimus::pool_for(std::optional<GpuTypeId> type, std::int32_t gpus) const {
  std::optional<GpuTypeId> best;
  for (std::size_t i = 0; i < pools_.size(); ++i) {
    const GpuTypeId id(i);
    const Pool& pool = pools_[id];
    if (!allows(type, id) || pool.awaited || pool.left < gpus) continue;
    if (best) {
      const Pool& other = pools_[*best];
      const bool idle = pool.idle >= gpus;
      const bool other_idle = other.idle >= gpus;
      const bool better = idle != other_idle ? idle
                          : idle             ? pool.idle > other.idle
                                             : pool.left > other.left;
      if (!better) continue;
    }
    best = id;
  }
  return best;
}

std::optional<GpuTypeId> Optimus::pool_to_await(std::optional<GpuTypeId> type,
                                                std::int32_t gpus) const {
  if (!may_await_) return std::nullopt;
  for (std::size_t i = 0; i < pools_.size(); ++i) {
    const Pool& pool = pools_[GpuTypeId(i)];
    if (allows(type, GpuTypeId(i)) && !pool.awaited && pool.unclaimed >= gpus) return GpuTypeId(i);
  }
  return std::nullopt;
}

bool Optimus::is_awaited(std::optional<GpuTypeId> type) const {
  for (std::size_t i = 0; i < pools_.size(); ++i) {
    if (allows(type, GpuTypeId(i)) && pools_[GpuTypeId(i)].awaited) return true;
  }
  return false;
}

bool Optimus::is_eligible(const Group& group, Right right) const {
  if (group.next == group.queued.end() || !within(group.tenant, group.least, right)) return false;
  return pool_for(group.gpu_type, group.least) || pool_to_await(group.gpu_type, group.least);
}

Optimus::Group* Optimus::oldest_eligible(Right right) {
  Group* oldest = nullptr;
  for (Group& group : groups_) {
    if (!is_eligible(group, right)) continue;
    if (oldest == nullptr || *group.next < *oldest->next) oldest = &group;
  }
  return oldest;
}

void Optimus::give_least(const View& view, Candidate& candidate, std::int32_t least) {
  candidate.give = least;
  Pool& pool = pools_[candidate.pool];
  pool.left -= least;
  pool.unclaimed -= least;
  if (candidate.held == 0 || candidate.moves) {
    pool.idle = std::max<std::int64_t>(0, pool.idle - least);
  }
  charge(view.spec(candidate.job), least);
}

void Optimus::serve_placed(const View& view, Candidate& candidate, Right right) {
  const JobSpec& spec = view.spec(candidate.job);
  const std::int32_t least = spec.fewest_gpus();
  if (candidate.safe) pools_[candidate.pool].unclaimed -= least;
  if (candidate.give > 0 || !within(spec.tenant, least, right)) return;
  if (pools_[candidate.pool].left < least) {
    const std::optional<GpuTypeId> other = pool_for(spec.gpu_type, least);
    if (!other) return;
    candidate.moves = true;
    candidate.pool = *other;
  }
  give_least(view, candidate, least);
}

void Optimus::serve_waiting(const View& view, Group& group) {
  const std::optional<GpuTypeId> pool = pool_for(group.gpu_type, group.least);
  if (!pool) {
    pools_[*pool_to_await(group.gpu_type, group.least)].awaited = true;
    return;
  }
  Candidate candidate;
  candidate.job = *group.next++;
  candidate.pool = *pool;
  give_least(view, candidate, group.least);
  candidates_.push_back(candidate);
}

// First the minimum of every job by age, then more by gain.
void Optimus::share_out(const View& view, Right right) {
  std::size_t placed = 0;
  Group* oldest = oldest_eligible(right);
  while (true) {
    if (oldest != nullptr && !is_eligible(*oldest, right)) oldest = oldest_eligible(right);
    if (placed < placed_ && (oldest == nullptr || candidates_[placed].job < *oldest->next)) {
      serve_placed(view, candidates_[placed++], right);
    } else if (oldest != nullptr) {
      serve_waiting(view, *oldest);
      oldest = oldest_eligible(right);
    } else {
      break;
    }
  }
  grow(view, right);
  may_await_ = false;  // Lent GPUs must not delay other jobs.
}

// The remaining time applies to its current GPUs or, if it waits, to the requested number.
double Optimus::predicted_steps(const View& view, const Candidate& candidate,
                                const std::vector<double>& speeds) const {
  const double work = view.facts(candidate.job).remaining().in_seconds();
  const double speed = candidate.held > 0 ? view.speed(candidate.job) : 1;
  const std::int32_t gpus = candidate.held > 0 ? candidate.held : view.spec(candidate.job).gpus;
  const auto at = std::min(static_cast<std::size_t>(gpus), speeds.size() - 1);
  return speed > 0 ? work / speed * speeds[at] : 0;
}

ElasticJob Optimus::elastic(const View& view, const Candidate& candidate) {
  const JobSpec& spec = view.spec(candidate.job);
  ElasticJob job;
  job.least = spec.fewest_gpus();
  job.most = wanted_by(spec);
  if (pools_[candidate.pool].awaited) job.most = std::max(candidate.held, candidate.give);
  const std::vector<double>& speeds = belief_.speeds(spec.profile, std::max(job.most, spec.gpus));
  job.speed = [known = &speeds](int workers) {
    return (*known)[static_cast<std::size_t>(workers)];
  };
  const bool predicted = tickets_[candidate.job].predicted;
  job.remaining = predicted ? predicted_steps(view, candidate, speeds)
                            : belief_.remaining_steps(candidate.job, spec.profile);
  if (!predicted && belief_.is_early(candidate.job)) job.priority = kEarlyPriority;
  if (!candidate.moves) job.held = candidate.held;
  job.restart = options_.restart_cost.in_seconds();
  return job;
}

void Optimus::grow(const View& view, Right right) {
  const bool nothing_left =
      std::none_of(pools_.begin(), pools_.end(), [](const Pool& pool) { return pool.left > 0; });
  if (nothing_left) return;
  growing_.clear();
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const Candidate& each = candidates_[i];
    const JobSpec& spec = view.spec(each.job);
    if (each.give == 0 || each.safe || spec.fewest_gpus() == spec.most_gpus()) continue;
    growing_.push_back(i);
  }
  // The older job wins a tie.
  std::sort(growing_.begin(), growing_.end(), [this](std::size_t a, std::size_t b) {
    return candidates_[a].job < candidates_[b].job;
  });
  elastic_.clear();
  workers_.clear();
  for (const std::size_t i : growing_) {
    elastic_.push_back(elastic(view, candidates_[i]));
    workers_.push_back(candidates_[i].give);
  }
  const auto of = [&](std::size_t i) -> Candidate& { return candidates_[growing_[i]]; };
  GpuBudget budget;
  budget.left = [&](std::size_t i) {
    const std::int64_t left = pools_[of(i).pool].left;
    if (right == Right::kAny) return left;
    return std::min(left, tenancy_->room(view.spec(of(i).job).tenant));
  };
  budget.take = [&](std::size_t i, std::int64_t gpus) {
    pools_[of(i).pool].left -= gpus;
    charge(view.spec(of(i).job), gpus);
  };
  grow_by_gain(elastic_, workers_, budget);
  for (std::size_t i = 0; i < growing_.size(); ++i) of(i).give = workers_[i];
}

}  // namespace muster
