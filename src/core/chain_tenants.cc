// Chain with tenants: what is a tenant's own right, what is lent, and how it is taken back.

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/saturate.h"
#include "core/chain.h"

namespace muster {

bool Chain::is_within(const Shape& shape) const {
  return tenancy_->within(shape.tenant, shape.gpus);
}

// Charges every job for what it holds in the draft, or has been given in this plan.
void Chain::begin_turns(const View& view, const Draft& draft) {
  tenancy_->begin();
  for (const JobId job : view.placed()) {
    if (draft.placement(job) == nullptr) continue;
    const JobSpec& spec = view.spec(job);
    tenancy_->charge(spec.tenant, spec.user, spec.gpus);
  }
  for (const JobId job : starts_) {
    const JobSpec& spec = view.spec(job);
    tenancy_->charge(spec.tenant, spec.user, spec.gpus);
  }
  tenancy_->share_out();
}

// As select_by_count, in two rounds: first those within their tenant's part, then those that borrow
// what is left. A tenant's waiting jobs displace its own running ones that rank behind, and those
// of anybody who borrows; not what is another tenant's own.
void Chain::select_by_count_and_tenant(const View& view) {
  const Instant now = view.now();
  // What each would own if nobody waited: this much must be left for those not yet come to.
  IdVector<TenantId, std::int64_t> owned(options_.tenants->size());
  std::int64_t owned_by_all = 0;
  tenancy_->begin();
  const auto charge = [&](JobId job) {
    const JobSpec& spec = view.spec(job);
    tenancy_->charge(spec.tenant, spec.user, spec.gpus);
  };
  std::vector<bool> counted(running_.size());
  young_.clear();
  for (std::size_t i = 0; i < running_.size(); ++i) {
    const JobSpec& spec = view.spec(running_[i].job);
    if (is_protected(view, running_[i].job)) {
      young_.push_back(i);
      continue;
    }
    budget_ += spec.gpus;
    if (!tenancy_->within(spec.tenant, spec.gpus)) continue;
    charge(running_[i].job);
    counted[i] = true;
    owned[spec.tenant] += spec.gpus;
    owned_by_all += spec.gpus;
  }
  tenancy_->begin();
  for (const std::size_t i : young_) {
    const JobSpec& spec = view.spec(running_[i].job);
    borrowed_[running_[i].job] = tenancy_->within(spec.tenant, spec.gpus) ? 0 : 1;
    charge(running_[i].job);
  }
  deferred_.clear();
  for (Shape& shape : shapes_) {
    shape.queue.advance(now);
    shape.walk.begin(shape.queue, now);
  }
  for (const bool own : {true, false}) {
    const std::size_t many = own ? running_.size() : deferred_.size();
    std::size_t next = 0;
    const auto eligible = [&](const Shape& shape) {
      const std::int64_t others = own ? owned_by_all - owned[shape.tenant] : 0;
      return !shape.walk.done() && shape.gpus <= budget_ - others && (!own || is_within(shape));
    };
    Shape* best = nullptr;
    bool look = true;  // Somebody may have become eligible who was not.
    while (true) {
      if (look || (best != nullptr && !eligible(*best))) {
        look = false;
        best = nullptr;
        for (Shape& shape : shapes_) {
          if (!eligible(shape)) continue;
          if (best != nullptr && !goes_before(shape.walk.entry(), best->walk.entry(), now))
            continue;
          best = &shape;
        }
      }
      if (best == nullptr && next == many) break;
      const std::size_t index = next == many ? 0 : own ? next : deferred_[next];
      if (next < many &&
          (best == nullptr || compare(running_[index].rank, best->walk.entry().rank, now) <= 0)) {
        ++next;
        const JobId job = running_[index].job;
        const JobSpec& spec = view.spec(job);
        if (own && is_protected(view, job)) continue;
        if (own) {
          if (counted[index]) {
            owned[spec.tenant] -= spec.gpus;
            owned_by_all -= spec.gpus;
          }
          const bool within = tenancy_->within(spec.tenant, spec.gpus);
          borrowed_[job] = within ? 0 : 1;
          if (!within && may_reclaim_) {
            deferred_.push_back(index);
            look = true;
            continue;
          }
        }
        if (spec.gpus <= budget_) {
          budget_ -= spec.gpus;
          charge(job);
        } else {
          stops_.push_back(job);
          look = true;
        }
      } else {
        const JobId job = best->walk.entry().job;
        borrowed_[job] = own ? 0 : 1;
        selected_.push_back(job);
        budget_ -= best->gpus;
        charge(job);
        best->walk.next();
        look = true;
      }
    }
  }
  await_growth(view);
}

// Which running jobs hold more than their tenant's part: the latest come, whole gangs.
void Chain::label_borrowed(const View& view, const Draft& draft) {
  std::vector<std::tuple<Instant, JobId>> by_age;
  for (const JobId job : view.placed()) {
    if (draft.placement(job) != nullptr) by_age.emplace_back(view.held_since(job), job);
  }
  std::sort(by_age.begin(), by_age.end());
  lent_.clear();
  tenancy_->begin();
  for (const auto& [since, job] : by_age) {
    const JobSpec& spec = view.spec(job);
    borrowed_[job] = tenancy_->within(spec.tenant, spec.gpus) ? 0 : 1;
    if (borrowed_[job] != 0) lent_.push_back(job);
    tenancy_->charge(spec.tenant, spec.user, spec.gpus);
  }
  for (const JobId job : starts_) {
    const JobSpec& spec = view.spec(job);
    tenancy_->charge(spec.tenant, spec.user, spec.gpus);
  }
}

std::int64_t Chain::work_at_risk(const View& view, JobId job) const {
  const Duration held = view.now() - view.held_since(job);
  const std::int64_t unsaved = options_.checkpoint_interval == Duration()
                                   ? 0
                                   : held.us() % options_.checkpoint_interval.us();
  return saturating_multiply(unsaved, view.spec(job).gpus);
}

// Without preemption by rank: a job within its tenant's part that found no place may take back what
// was lent, if the cluster is full enough.
void Chain::reclaim(const View& view, Draft& draft) {
  if (!may_reclaim_) return;
  const auto claims = [&](const Shape& shape) {
    return !shape.queue.empty() && !shape.refusal && is_within(shape);
  };
  if (std::none_of(shapes_.begin(), shapes_.end(), claims)) return;
  label_borrowed(view, draft);
  if (lent_.empty()) return;
  for (Shape& shape : shapes_) shape.out = false;
  while (true) {
    Shape* best = nullptr;
    for (Shape& shape : shapes_) {
      if (shape.out || !claims(shape)) continue;
      if (best == nullptr || served_before(shape, *best, view.now())) best = &shape;
    }
    if (best == nullptr) return;
    if (reclaim_for(view, draft, best->queue.first().job)) continue;
    for (const JobId each : lent_) {
      if (is_protected(view, each)) review_young(safe_until(view, each));
    }
    // Nobody overtakes inside a tenant where the policy says so.
    const bool all = traits_.when_stuck == PolicyTraits::WhenStuck::kWait;
    for (Shape& shape : shapes_)
      shape.out |= &shape == best || (all && shape.tenant == best->tenant);
  }
}

bool Chain::reclaim_for(const View& view, Draft& draft, JobId job) {
  std::erase_if(lent_, [&](JobId each) { return draft.placement(each) == nullptr; });
  const auto refund = [&] {
    for (const JobId each : lent_) {
      if (draft.placement(each) != nullptr) continue;
      const JobSpec& spec = view.spec(each);
      tenancy_->charge(spec.tenant, spec.user, -spec.gpus);
      stops_.push_back(each);
    }
  };
  if (adaptive_) {  // By count; the mechanism finds the places.
    std::int32_t found = budget_;
    const Draft::Mark mark = draft.mark();
    std::vector<std::tuple<std::int64_t, JobId>> cheapest;
    for (const JobId each : lent_) {
      if (!is_protected(view, each)) cheapest.emplace_back(work_at_risk(view, each), each);
    }
    std::sort(cheapest.begin(), cheapest.end());
    for (const auto& [cost, each] : cheapest) {
      if (found >= view.spec(job).gpus) break;
      draft.stop(each);
      found += view.spec(each).gpus;
    }
    const std::int32_t before = std::exchange(budget_, found);
    if (take(view, draft, job)) {
      refund();
      return true;
    }
    budget_ = before;
    draft.rollback(mark);
    return false;
  }
  if (evict_on_one_server(view, draft, job)) {
    refund();
    return true;
  }
  // Nothing on one server: all that is lent is up for it, and who is not in the way stays, the
  // costliest first.
  const Draft::Mark mark = draft.mark();
  std::vector<std::tuple<std::int64_t, JobId, Placement>> displaced;
  for (const JobId each : lent_) {
    if (is_protected(view, each)) continue;
    displaced.emplace_back(-work_at_risk(view, each), each, *draft.placement(each));
    draft.stop(each);
  }
  if (displaced.empty() || !take(view, draft, job)) {
    draft.rollback(mark);
    return false;
  }
  std::sort(displaced.begin(), displaced.end(), [](const auto& a, const auto& b) {
    return std::tie(std::get<0>(a), std::get<1>(a)) < std::tie(std::get<0>(b), std::get<1>(b));
  });
  for (const auto& [cost, each, held] : displaced) draft.start(each, held);
  refund();
  return true;
}

// The server on which the fewest, and of those the cheapest, evictions make room for a job that one
// server can hold.
bool Chain::evict_on_one_server(const View& view, Draft& draft, JobId job) {
  const JobSpec& spec = view.spec(job);
  struct Guest {
    NodeId node;
    std::int32_t gpus;
    std::int64_t cost;
    JobId job;
  };
  std::vector<Guest> guests;
  for (const JobId each : lent_) {
    if (is_protected(view, each)) continue;
    const std::int64_t cost = work_at_risk(view, each);
    for (const Share& share : *draft.placement(each)) {
      guests.push_back({share.node, share.gpus(), cost, each});
    }
  }
  std::sort(guests.begin(), guests.end(), [](const Guest& a, const Guest& b) {
    return std::tuple(a.node, -a.gpus, a.cost, a.job) < std::tuple(b.node, -b.gpus, b.cost, b.job);
  });
  struct Choice {
    std::size_t begin;
    std::size_t count;
    std::int64_t cost;
  };
  std::vector<Choice> choices;
  for (std::size_t begin = 0; begin < guests.size();) {
    const NodeId node = guests[begin].node;
    std::size_t end = begin;
    while (end < guests.size() && guests[end].node == node) ++end;
    const Node& server = cluster_->topology().node(node);
    const bool fits =
        server.capacity.gpus >= spec.gpus && (!spec.gpu_type || *spec.gpu_type == server.gpu_type);
    std::int32_t room = draft.books().free_gpus(node);
    std::int64_t cost = 0;
    std::size_t count = 0;
    while (fits && room < spec.gpus && begin + count < end) {
      room += guests[begin + count].gpus;
      cost = saturating_add(cost, guests[begin + count].cost);
      ++count;
    }
    if (fits && room >= spec.gpus) choices.push_back({begin, count, cost});
    begin = end;
  }
  std::sort(choices.begin(), choices.end(), [](const Choice& a, const Choice& b) {
    return std::tie(a.count, a.cost, a.begin) < std::tie(b.count, b.cost, b.begin);
  });
  constexpr std::size_t kTries = 4;  // A placement may have reasons of its own to refuse a server.
  for (std::size_t i = 0; i < std::min(kTries, choices.size()); ++i) {
    const Draft::Mark mark = draft.mark();
    for (std::size_t k = 0; k < choices[i].count; ++k) draft.stop(guests[choices[i].begin + k].job);
    if (take(view, draft, job)) return true;
    draft.rollback(mark);
  }
  return false;
}

}  // namespace muster
