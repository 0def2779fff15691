// Chain: who would start before whom. For whoever tells people; a plan looks no farther than it
// must.

#include <algorithm>
#include <utility>

#include "engine/chain/chain.h"

namespace muster {

using WhenStuck = PolicyTraits::WhenStuck;

namespace {

constexpr std::size_t kMostTurns = 2'000;  // Each costs a look at every shape.

}  // namespace

class Chain::QueueOrder {
 public:
  using Lanes = std::vector<std::vector<RankedJob>>;

  QueueOrder(const Chain& chain, const View& view) : chain_(chain), view_(view) {}
  Lanes lanes() const;
  std::vector<JobId> by_rights(std::size_t most, Lanes& lanes) const;

 private:
  Tenancy accounts() const;

  const Chain& chain_;
  const View& view_;
};

// The jobs of each shape, the last first; in the order in which a plan goes through shapes.
Chain::QueueOrder::Lanes Chain::QueueOrder::lanes() const {
  Lanes lanes;
  for (const Shape& shape : chain_.shapes_) {
    if (shape.queue.empty()) continue;
    std::vector<RankedJob>& lane = lanes.emplace_back();
    shape.queue.for_each([&](const RankedJob& job) { lane.push_back(job); });
    std::sort(lane.begin(), lane.end(), [&](const RankedJob& a, const RankedJob& b) {
      return goes_before(b, a, view_.now());
    });
  }
  return lanes;
}

// As they are at the beginning of a plan.
Tenancy Chain::QueueOrder::accounts() const {
  Tenancy accounts = *chain_.tenancy_;
  accounts.begin();
  for (const JobId job : view_.placed()) accounts.charge(view_.spec(job));
  accounts.share_out();
  return accounts;
}

// One after the other is given what it asks for, as a plan would, which changes who is next; until
// nobody has a better right than anybody else any more. Takes them out of the lanes; all, where
// that never comes.
std::vector<JobId> Chain::QueueOrder::by_rights(std::size_t most, Lanes& lanes) const {
  Tenancy tenancy = accounts();
  // Where jobs are stopped for others, the plan goes by rank alone.
  const bool turns =
      !chain_.traits_.preempts && chain_.options_.tenants->sharing() != Sharing::kQuota;
  const auto sooner = [&](const RankedJob& a, const RankedJob& b) {
    const JobSpec& spec_a = view_.spec(a.job);
    const JobSpec& spec_b = view_.spec(b.job);
    const int turn =
        turns ? tenancy.compare_turns(spec_a.tenant, spec_a.user, spec_b.tenant, spec_b.user) : 0;
    return turn != 0 ? turn < 0 : goes_before(a, b, view_.now());
  };
  if (turns) most = std::min(most, kMostTurns);
  // Where nobody overtakes, only a tenant's first can be next.
  const bool one_each = chain_.traits_.when_stuck == WhenStuck::kWait;
  IdVector<TenantId, const RankedJob*> first_of;
  std::vector<JobId> line;
  while (line.size() < most) {
    first_of.assign(chain_.options_.tenants->size(), nullptr);
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

std::optional<std::vector<JobId>> Chain::line(const View& view, std::size_t most) const {
  if (traits_.when_stuck == WhenStuck::kAlign || options_.rebuild) return std::nullopt;
  std::vector<JobId> line;
  std::vector<RankedJob> rest;  // Who goes by rank.
  if (tenancy_) {
    const QueueOrder order(*this, view);
    QueueOrder::Lanes lanes = order.lanes();
    line = order.by_rights(most, lanes);
    for (const auto& lane : lanes) rest.insert(rest.end(), lane.begin(), lane.end());
  } else {
    for (const Shape& shape : shapes_) {
      shape.queue.for_each([&](const RankedJob& job) { rest.push_back(job); });
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
