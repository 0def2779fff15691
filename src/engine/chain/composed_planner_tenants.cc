// Plans with tenants and without preemption by rank: entitlements, loans and reclaims.

#include <algorithm>
#include <tuple>
#include <utility>

#include "engine/chain/composed_planner.h"

namespace muster {

bool ComposedPlanner::is_within(const DemandClass& demand_class) const {
  return tenancy_->within(demand_class.tenant, demand_class.gpus);
}

std::size_t ComposedPlanner::distance(const DemandClass& demand_class) const {
  return tenancy_->distance(demand_class.tenant, demand_class.gpus);
}

// Charges every job for its GPUs in the draft or in this plan.
void ComposedPlanner::charge_all(const View& view, const Draft& draft) {
  tenancy_->begin();
  for (const JobId job : view.placed()) {
    if (draft.placement(job) != nullptr) tenancy_->charge(view.spec(job));
  }
  for (const JobId job : starts_) tenancy_->charge(view.spec(job));
}

// Starts waiting jobs: first those within their entitlement (owners), then borrowers. Reclaims lent
// GPUs for owners that found no place.
class ComposedPlanner::Lending {
 public:
  Lending(ComposedPlanner& chain, const View& view, Draft& draft)
      : planner_(chain), view_(view), draft_(draft) {}
  void run();

 private:
  void lend(std::size_t near);
  bool claims(const DemandClass& demand_class) const;
  bool is_claimed() const;
  void label_borrowed();
  void call_off(std::size_t first);
  void reclaim();

  ComposedPlanner& planner_;
  const View& view_;
  Draft& draft_;
};

// Finds the running jobs that exceed the entitlement of their tenant. It goes from the oldest to
// the newest. A job that no longer fits in the rest of the entitlement borrows all its GPUs.
void ComposedPlanner::Lending::label_borrowed() {
  std::vector<std::tuple<Instant, JobId>> by_age;
  for (const JobId job : view_.placed()) {
    if (draft_.placement(job) != nullptr) by_age.emplace_back(view_.held_since(job), job);
  }
  std::sort(by_age.begin(), by_age.end());
  planner_.lent_.clear();
  planner_.tenancy_->begin();
  for (const JobId job : planner_.starts_) planner_.tenancy_->charge(view_.spec(job));
  for (const auto& [since, job] : by_age) {
    const JobSpec& spec = view_.spec(job);
    if (!planner_.tenancy_->within(spec.tenant, spec.gpus)) {
      planner_.lent_.push_back(job);
      continue;
    }
    planner_.borrowed_[job] = 0;
    planner_.tenancy_->charge(spec);
  }
  // Each loan comes from the nearest level whose own tenants have what they are entitled to.
  for (const JobId job : planner_.lent_) {
    const JobSpec& spec = view_.spec(job);
    const std::size_t far = planner_.tenancy_->distance(spec.tenant, spec.gpus);
    planner_.borrowed_[job] = static_cast<std::uint8_t>(far);
    planner_.tenancy_->charge_lender(spec.tenant, far, spec.gpus);
  }
  planner_.charge_all(view_, draft_);
}

void ComposedPlanner::Lending::lend(std::size_t near) {
  const bool nearby = near < planner_.tenancy_->farthest();
  planner_.fill(view_, draft_, nearby ? std::optional(near) : std::nullopt);
}

bool ComposedPlanner::Lending::claims(const DemandClass& demand_class) const {
  return !demand_class.queue.empty() && !demand_class.refusal &&
         planner_.distance(demand_class) < planner_.tenancy_->farthest() &&
         !planner_.is_passed_by(demand_class, view_.now());
}

bool ComposedPlanner::Lending::is_claimed() const {
  return std::any_of(planner_.classes_.begin(), planner_.classes_.end(),
                     [&](const DemandClass& demand_class) { return claims(demand_class); });
}

// Cancels the starts of this plan from index `first` on.
void ComposedPlanner::Lending::call_off(std::size_t first) {
  for (std::size_t i = first; i < planner_.starts_.size(); ++i) {
    const JobSpec& spec = view_.spec(planner_.starts_[i]);
    if (planner_.adaptive_) {
      planner_.budget_ += spec.gpus;
    } else {
      draft_.stop(planner_.starts_[i]);
    }
    planner_.tenancy_->refund(spec);
    planner_.enqueue(view_, planner_.starts_[i]);
  }
  planner_.starts_.resize(first);
}

// A job within its entitlement that found no place may reclaim lent GPUs, if the cluster is full
// enough.
void ComposedPlanner::Lending::reclaim() {
  label_borrowed();
  if (planner_.lent_.empty()) return;
  for (DemandClass& demand_class : planner_.classes_) demand_class.out = false;
  while (true) {
    DemandClass* best = nullptr;
    for (DemandClass& demand_class : planner_.classes_) {
      if (demand_class.out || !claims(demand_class)) continue;
      if (best == nullptr || planner_.served_before(demand_class, *best, view_.now()))
        best = &demand_class;
    }
    if (best == nullptr) return;
    if (planner_.reclaim_for(view_, draft_, best->queue.first().job)) {
      label_borrowed();
      continue;
    }
    for (const JobId each : planner_.lent_) {
      if (planner_.is_protected(view_, each))
        planner_.review_young(planner_.safe_until(view_, each));
    }
    best->out = true;
  }
}

// Owners come first. If their GPUs are not enough, lent GPUs are reclaimed for them. Only the rest
// is lent, to near borrowers first.
void ComposedPlanner::Lending::run() {
  const std::size_t farthest = planner_.tenancy_->farthest();
  std::size_t owners = planner_.starts_.size();  // Number of starts that are not loans.
  planner_.may_reclaim_ = false;
  for (std::size_t near = 0; near <= farthest; ++near) {
    lend(near);
    if (near == 0) owners = planner_.starts_.size();
    const bool was_full = std::exchange(planner_.may_reclaim_,
                                        planner_.tenancy_->may_reclaim(planner_.free_gpus(draft_)));
    if (planner_.may_reclaim_ && (near == 0 || !was_full) && is_claimed()) {
      // If the new loans fill the cluster, waiting owners come before them.
      call_off(owners);
      reclaim();
      for (std::size_t again = 1; again <= near; ++again) lend(again);
    } else if (planner_.may_reclaim_ && near < farthest && is_claimed()) {
      reclaim();
    }
    if (near == 0) owners = planner_.starts_.size();
  }
}

void ComposedPlanner::fill_by_tenants(const View& view, Draft& draft) {
  Lending(*this, view, draft).run();
}

}  // namespace muster
