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

std::size_t Chain::distance(const Shape& shape) const {
  return tenancy_->distance(shape.tenant, shape.gpus);
}

// Charges every job for what it holds in the draft, or has been given in this plan.
void Chain::charge_all(const View& view, const Draft& draft) {
  tenancy_->begin();
  for (const JobId job : view.placed()) {
    if (draft.placement(job) != nullptr) tenancy_->charge(view.spec(job));
  }
  for (const JobId job : starts_) tenancy_->charge(view.spec(job));
}

// How many of the GPUs yet to be handed out are not for others: those of running jobs that their
// tenant owns and that are not yet come to. Its own waiting jobs may use them up.
struct Chain::Reserves {
  struct Reserve {
    std::vector<std::int32_t> ahead;  // GPUs of its running jobs not yet come to, the last first.
    std::int64_t gpus = 0;
  };
  IdVector<TenantId, Reserve> of;
  std::int64_t all = 0;

  std::int64_t for_others(TenantId tenant) const { return all - of[tenant].gpus; }
  void set(TenantId tenant, std::int64_t gpus) {
    all += gpus - of[tenant].gpus;
    of[tenant].gpus = gpus;
  }
  std::int64_t room(TenantId tenant, const Tenancy& tenancy, std::int64_t budget) const {
    return std::min(tenancy.room(tenant), budget - for_others(tenant));
  }
  // The next of its running jobs no longer needs to be kept for: if it is its own it is kept now.
  void come_to(TenantId tenant, const Tenancy& tenancy, std::int64_t budget) {
    Reserve& mine = of[tenant];
    const std::int32_t gpus = mine.ahead.back();
    mine.ahead.pop_back();
    if (gpus <= room(tenant, tenancy, budget)) set(tenant, mine.gpus - gpus);
  }
  // Anew, when the tenant has been given something else.
  void update(TenantId tenant, const Tenancy& tenancy, std::int64_t budget) {
    const std::int64_t room_now = room(tenant, tenancy, budget);
    const std::vector<std::int32_t>& ahead = of[tenant].ahead;
    std::int64_t kept = 0;
    for (auto gpus = ahead.rbegin(); gpus != ahead.rend() && kept < room_now; ++gpus) {
      if (*gpus <= room_now - kept) kept += *gpus;
    }
    set(tenant, kept);
  }
};

// As select_by_count, in rounds: first those within their tenant's part, then those that borrow
// what is left, from nearby first. A tenant's waiting jobs displace its own running ones that rank
// behind, and those of anybody who borrows; not what is another tenant's own.
void Chain::select_by_count_and_tenant(const View& view) {
  const Instant now = view.now();
  Reserves reserves;
  reserves.of.resize(options_.tenants->size());
  tenancy_->begin();
  young_.clear();
  for (std::size_t i = 0; i < running_.size(); ++i) {
    const JobId job = running_[i].job;
    const JobSpec& spec = view.spec(job);
    if (is_protected(view, job)) {
      young_.push_back(i);
      borrowed_[job] = static_cast<std::uint8_t>(tenancy_->distance(spec.tenant, spec.gpus));
      tenancy_->charge(spec);
    } else {
      budget_ += spec.gpus;
      reserves.of[spec.tenant].ahead.push_back(spec.gpus);
    }
  }
  for (std::size_t i = 0; i < reserves.of.size(); ++i) {
    std::vector<std::int32_t>& ahead = reserves.of[TenantId(i)].ahead;
    std::reverse(ahead.begin(), ahead.end());
    reserves.update(TenantId(i), *tenancy_, budget_);
  }
  for (Shape& shape : shapes_) {
    shape.queue.advance(now);
    shape.walk.begin(shape.queue, now);
    shape.out = sits_out(view, shape);
  }
  std::vector<std::size_t> later(running_.size());  // Those not yet decided on.
  for (std::size_t i = 0; i < later.size(); ++i) later[i] = i;
  for (std::size_t near = 0; near <= tenancy_->farthest(); ++near) {
    const bool own = near == 0;
    deferred_.swap(later);
    later.clear();
    const std::size_t many = deferred_.size();
    std::size_t next = 0;
    const auto eligible = [&](const Shape& shape) {
      return !shape.out && !shape.walk.done() &&
             shape.gpus <= budget_ - reserves.for_others(shape.tenant) &&
             (own ? is_within(shape) : near == tenancy_->farthest() || distance(shape) <= near);
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
      const std::size_t index = next == many ? 0 : deferred_[next];
      if (next < many &&
          (best == nullptr || compare(running_[index].rank, best->walk.entry().rank, now) <= 0)) {
        ++next;
        const JobId job = running_[index].job;
        const JobSpec& spec = view.spec(job);
        if (own && is_protected(view, job)) continue;
        const std::size_t far = tenancy_->distance(spec.tenant, spec.gpus);
        borrowed_[job] = static_cast<std::uint8_t>(far);
        if (own) reserves.come_to(spec.tenant, *tenancy_, budget_);
        if (far > near && may_reclaim_) {
          later.push_back(index);
          look = true;
          continue;
        }
        if (spec.gpus <= budget_ - reserves.for_others(spec.tenant)) {
          budget_ -= spec.gpus;
          tenancy_->charge(spec);
          if (far != 0) reserves.update(spec.tenant, *tenancy_, budget_);
        } else {
          stops_.push_back(job);
          look = true;
        }
      } else {
        const JobId job = best->walk.entry().job;
        borrowed_[job] = static_cast<std::uint8_t>(distance(*best));
        selected_.push_back(job);
        budget_ -= best->gpus;
        tenancy_->charge(view.spec(job));
        reserves.update(best->tenant, *tenancy_, budget_);
        best->walk.next();
        look = true;
      }
    }
  }
  await_growth(view);
}

// Which running jobs their tenant has no right to: going from those that came first to those that
// came last, the ones for which there is no room left in its part. Whole gangs.
void Chain::label_borrowed(const View& view, const Draft& draft) {
  std::vector<std::tuple<Instant, JobId>> by_age;
  for (const JobId job : view.placed()) {
    if (draft.placement(job) != nullptr) by_age.emplace_back(view.held_since(job), job);
  }
  std::sort(by_age.begin(), by_age.end());
  lent_.clear();
  tenancy_->begin();
  for (const JobId job : starts_) tenancy_->charge(view.spec(job));
  for (const auto& [since, job] : by_age) {
    const JobSpec& spec = view.spec(job);
    if (!tenancy_->within(spec.tenant, spec.gpus)) {
      lent_.push_back(job);
      continue;
    }
    borrowed_[job] = 0;
    tenancy_->charge(spec);
  }
  for (const JobId job : lent_) {  // From nearby, as long as all who own something there have it.
    const JobSpec& spec = view.spec(job);
    const std::size_t far = tenancy_->distance(spec.tenant, spec.gpus);
    borrowed_[job] = static_cast<std::uint8_t>(far);
    tenancy_->charge_lender(spec.tenant, far, spec.gpus);
  }
  charge_all(view, draft);
}

std::int64_t Chain::work_at_risk(const View& view, JobId job) const {
  const Duration held = view.now() - view.held_since(job);
  const Duration supposed = options_.checkpoint_interval == Duration()
                                ? Duration()
                                : Duration::micros(held.us() % options_.checkpoint_interval.us());
  return saturating_multiply(view.unsaved(job).value_or(supposed).us(), view.spec(job).gpus);
}

// After a selection in which nothing was taken back because the cluster was not full enough: it is
// now, and somebody waits for what is its own. Then everything is to be selected anew.
bool Chain::owner_left_out(const View& view, std::int32_t free_gpus) {
  if (may_reclaim_ || !tenancy_->may_reclaim(budget_)) return false;
  const auto waits = [&](const Shape& shape) {
    return !shape.walk.done() && distance(shape) < tenancy_->farthest();
  };
  const auto loses = [&](JobId job) {
    return tenancy_->distance(view.spec(job).tenant, view.spec(job).gpus) < tenancy_->farthest();
  };
  if (std::none_of(shapes_.begin(), shapes_.end(), waits) &&
      std::none_of(stops_.begin(), stops_.end(), loses)) {
    return false;
  }
  may_reclaim_ = true;
  selected_.clear();
  stops_.clear();
  budget_ = free_gpus;
  return true;
}

bool Chain::claims(const Shape& shape, Instant now) const {
  return !shape.queue.empty() && !shape.refusal && distance(shape) < tenancy_->farthest() &&
         !is_passed_by(shape, now);
}

bool Chain::may_evict(const View& view, JobId job, JobId lent) const {
  const JobSpec& spec = view.spec(job);
  return !is_protected(view, lent) &&
         tenancy_->outranks(spec.tenant, tenancy_->distance(spec.tenant, spec.gpus),
                            view.spec(lent).tenant, borrowed_[lent]);
}

// Owners first; then what was lent is taken back for those whom that is not enough; and only what
// is left after that is lent, nearby first.
void Chain::fill_by_tenants(const View& view, Draft& draft) {
  const std::size_t farthest = tenancy_->farthest();
  const auto lend = [&](std::size_t near) {
    fill(view, draft, near < farthest ? std::optional(near) : std::nullopt);
  };
  const auto claimed = [&] {
    return std::any_of(shapes_.begin(), shapes_.end(),
                       [&](const Shape& shape) { return claims(shape, view.now()); });
  };
  std::size_t owners = starts_.size();  // So many of the starts are no loans.
  may_reclaim_ = false;
  for (std::size_t near = 0; near <= farthest; ++near) {
    lend(near);
    if (near == 0) owners = starts_.size();
    const bool was_full = std::exchange(may_reclaim_, tenancy_->may_reclaim(free_gpus(draft)));
    if (may_reclaim_ && (near == 0 || !was_full) && claimed()) {
      // If it is the new loans that fill the cluster, owners who still wait come before them.
      call_off(view, draft, owners);
      reclaim(view, draft);
      for (std::size_t again = 1; again <= near; ++again) lend(again);
    } else if (may_reclaim_ && near < farthest && claimed()) {
      reclaim(view, draft);
    }
    if (near == 0) owners = starts_.size();
  }
}

// Starts of this plan, from the given one on.
void Chain::call_off(const View& view, Draft& draft, std::size_t first) {
  for (std::size_t i = first; i < starts_.size(); ++i) {
    const JobSpec& spec = view.spec(starts_[i]);
    if (adaptive_) {
      budget_ += spec.gpus;
    } else {
      draft.stop(starts_[i]);
    }
    tenancy_->refund(spec);
    enqueue(view, starts_[i]);
  }
  starts_.resize(first);
}

// Without preemption by rank: a job within its tenant's part that found no place may take back what
// was lent, if the cluster is full enough.
void Chain::reclaim(const View& view, Draft& draft) {
  label_borrowed(view, draft);
  if (lent_.empty()) return;
  for (Shape& shape : shapes_) shape.out = false;
  while (true) {
    Shape* best = nullptr;
    for (Shape& shape : shapes_) {
      if (shape.out || !claims(shape, view.now())) continue;
      if (best == nullptr || served_before(shape, *best, view.now())) best = &shape;
    }
    if (best == nullptr) return;
    if (reclaim_for(view, draft, best->queue.first().job)) {
      label_borrowed(view, draft);
      continue;
    }
    for (const JobId each : lent_) {
      if (is_protected(view, each)) review_young(safe_until(view, each));
    }
    best->out = true;
  }
}

}  // namespace muster
