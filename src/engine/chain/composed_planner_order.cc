// The order of the queue, for explanations to users. A plan itself computes only as much of it as
// it needs.

#include <algorithm>
#include <utility>

#include "engine/chain/composed_planner.h"

namespace muster {

using BlockedHeadRule = PolicyTraits::BlockedHeadRule;

namespace {

constexpr std::size_t kMaxTurns = 2'000;  // Each turn costs O(demand classes).

}  // namespace

class ComposedPlanner::QueueOrder {
 public:
  using Lanes = std::vector<std::vector<RankedJob>>;

  QueueOrder(const ComposedPlanner& chain, const View& view) : planner_(chain), view_(view) {}
  Lanes lanes() const;
  std::vector<JobId> by_entitlement(std::size_t most, Lanes& lanes) const;

 private:
  Tenancy accounts() const;

  const ComposedPlanner& planner_;
  const View& view_;
};

// Returns the jobs of each demand class, the last one first. The classes are in the order of a
// plan.
ComposedPlanner::QueueOrder::Lanes ComposedPlanner::QueueOrder::lanes() const {
  Lanes lanes;
  for (const DemandClass& demand_class : planner_.classes_) {
    if (demand_class.queue.empty()) continue;
    std::vector<RankedJob>& lane = lanes.emplace_back();
    demand_class.queue.for_each([&](const RankedJob& job) { lane.push_back(job); });
    std::sort(lane.begin(), lane.end(), [&](const RankedJob& a, const RankedJob& b) {
      return goes_before(b, a, view_.now());
    });
  }
  return lanes;
}

// Returns the accounts as at the start of a plan.
Tenancy ComposedPlanner::QueueOrder::accounts() const {
  Tenancy accounts = *planner_.tenancy_;
  accounts.begin();
  for (const JobId job : view_.placed()) accounts.charge(view_.spec(job));
  accounts.share_out();
  return accounts;
}

// Simulates a plan that gives each job its GPUs in turn, which changes the next turn. Ends when no
// job has a better claim than the others, and removes the ordered jobs from `lanes`. With turns by
// usage it orders up to kMaxTurns jobs and clears `lanes`.
std::vector<JobId> ComposedPlanner::QueueOrder::by_entitlement(std::size_t most,
                                                               Lanes& lanes) const {
  Tenancy tenancy = accounts();
  // With preemption, a plan uses only the rank.
  const bool turns =
      !planner_.traits_.preempts && planner_.options_.tenants->sharing() != Sharing::kQuota;
  const auto sooner = [&](const RankedJob& a, const RankedJob& b) {
    const JobSpec& spec_a = view_.spec(a.job);
    const JobSpec& spec_b = view_.spec(b.job);
    const int turn =
        turns ? tenancy.compare_turns(spec_a.tenant, spec_a.user, spec_b.tenant, spec_b.user) : 0;
    return turn != 0 ? turn < 0 : goes_before(a, b, view_.now());
  };
  if (turns) most = std::min(most, kMaxTurns);
  // If no job may overtake, only the first job of a tenant can be next.
  const bool one_each = planner_.traits_.when_stuck == BlockedHeadRule::kWait;
  IdVector<TenantId, const RankedJob*> first_of;
  std::vector<JobId> line;
  while (line.size() < most) {
    first_of.assign(planner_.options_.tenants->size(), nullptr);
    for (const std::vector<RankedJob>& lane : lanes) {
      if (!one_each || lane.empty()) continue;
      const RankedJob*& first = first_of[view_.spec(lane.back().job).tenant];
      if (first == nullptr || goes_before(lane.back(), *first, view_.now())) first = &lane.back();
    }
    std::vector<RankedJob>* best = nullptr;
    std::size_t best_far = 0;
    for (std::vector<RankedJob>& lane : lanes) {
      if (lane.empty()) continue;
      const JobSpec& spec = view_.spec(lane.back().job);
      if (one_each && first_of[spec.tenant] != &lane.back()) continue;
      const std::size_t far = tenancy.distance(spec.tenant, spec.gpus);
      if (best != nullptr && far > best_far) continue;
      if (best != nullptr && far == best_far && !sooner(lane.back(), best->back())) continue;
      best = &lane;
      best_far = far;
    }
    if (best == nullptr || (best_far == tenancy.farthest() && !turns)) break;
    line.push_back(best->back().job);
    tenancy.charge(view_.spec(line.back()));
    best->pop_back();
  }
  if (turns) lanes.clear();
  return line;
}

std::optional<std::vector<JobId>> ComposedPlanner::queue_order(const View& view,
                                                               std::size_t most) const {
  if (traits_.when_stuck == BlockedHeadRule::kAlign) return std::nullopt;
  std::vector<JobId> line;
  std::vector<RankedJob> rest;  // Jobs to order by rank.
  if (tenancy_) {
    const QueueOrder order(*this, view);
    QueueOrder::Lanes lanes = order.lanes();
    line = order.by_entitlement(most, lanes);
    for (const auto& lane : lanes) rest.insert(rest.end(), lane.begin(), lane.end());
  } else {
    for (const DemandClass& demand_class : classes_) {
      demand_class.queue.for_each([&](const RankedJob& job) { rest.push_back(job); });
    }
  }
  const std::size_t wanted = std::min(most - line.size(), rest.size());
  const auto middle = rest.begin() + static_cast<std::ptrdiff_t>(wanted);
  const auto before = [&](const RankedJob& a, const RankedJob& b) {
    return goes_before(a, b, view.now());
  };
  if (middle != rest.end()) std::nth_element(rest.begin(), middle, rest.end(), before);
  std::sort(rest.begin(), middle, before);
  for (std::size_t i = 0; i < wanted; ++i) line.push_back(rest[i].job);
  return line;
}

}  // namespace muster
