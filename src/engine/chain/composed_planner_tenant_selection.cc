// Plans with tenants and preemption: selects the jobs to run, so that each tenant first gets its
// entitlement.

#include <algorithm>
#include <vector>

#include "engine/chain/composed_planner.h"

namespace muster {

// Like select_by_count(), but in rounds: first jobs within the entitlement of their tenant, then
// borrowers, from near to far. Waiting jobs of a tenant displace its own running jobs that rank
// behind them, and all borrowers. They never displace jobs within the entitlement of another
// tenant.
class ComposedPlanner::TenantSelection {
 public:
  TenantSelection(ComposedPlanner& chain, const View& view)
      : planner_(chain), view_(view), tenancy_(*chain.tenancy_), budget_(chain.budget_) {}
  void run();

 private:
  // GPUs in the budget that are reserved: those of running jobs within the entitlement of their
  // tenant on which the round has not decided yet. Waiting jobs of the same tenant may use them.
  struct Reserves {
    struct Reserve {
      std::vector<std::int32_t> ahead;  // GPUs of its undecided running jobs, the last one first.
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
    // Ends the reservation for the next running job, if it is within the entitlement: the job keeps
    // its GPUs now.
    void release_next(TenantId tenant, const Tenancy& tenancy, std::int64_t budget) {
      Reserve& mine = of[tenant];
      const std::int32_t gpus = mine.ahead.back();
      mine.ahead.pop_back();
      if (gpus <= room(tenant, tenancy, budget)) set(tenant, mine.gpus - gpus);
    }
    // Recomputes the reserve after the tenant has got other GPUs.
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

  void begin();
  void select_round();
  bool is_eligible(const DemandClass& demand_class) const;
  DemandClass* first_eligible() const;
  void decide_running(std::size_t index);
  void select_first_of(DemandClass& demand_class);

  ComposedPlanner& planner_;
  const View& view_;
  Tenancy& tenancy_;
  std::int32_t& budget_;
  Reserves reserves_;
  std::vector<std::size_t> later_;  // Indices of running jobs to decide on.
  std::size_t near_ = 0;            // Maximum borrowing distance in this round.
  bool rescan_ = true;              // Another class may have become eligible.
};

// Adds the GPUs of all running jobs that may be stopped to the budget, and reserves those within
// entitlements.
void ComposedPlanner::TenantSelection::begin() {
  reserves_.of.resize(planner_.options_.tenants->size());
  tenancy_.begin();
  planner_.young_.clear();
  for (std::size_t i = 0; i < planner_.running_.size(); ++i) {
    const JobId job = planner_.running_[i].job;
    const JobSpec& spec = view_.spec(job);
    if (planner_.is_protected(view_, job)) {
      planner_.young_.push_back(i);
      planner_.borrowed_[job] =
          static_cast<std::uint8_t>(tenancy_.distance(spec.tenant, spec.gpus));
      tenancy_.charge(spec);
    } else {
      budget_ += spec.gpus;
      reserves_.of[spec.tenant].ahead.push_back(spec.gpus);
    }
  }
  for (std::size_t i = 0; i < reserves_.of.size(); ++i) {
    std::vector<std::int32_t>& ahead = reserves_.of[TenantId(i)].ahead;
    std::reverse(ahead.begin(), ahead.end());
    reserves_.update(TenantId(i), tenancy_, budget_);
  }
  for (DemandClass& demand_class : planner_.classes_) {
    demand_class.queue.advance(view_.now());
    demand_class.walk.begin(demand_class.queue, view_.now());
    demand_class.out = planner_.sits_out(view_, demand_class);
  }
}

bool ComposedPlanner::TenantSelection::is_eligible(const DemandClass& demand_class) const {
  return !demand_class.out && !demand_class.walk.done() &&
         demand_class.gpus <= budget_ - reserves_.for_others(demand_class.tenant) &&
         (near_ == 0 ? planner_.is_within(demand_class)
                     : near_ == tenancy_.farthest() || planner_.distance(demand_class) <= near_);
}

DemandClass* ComposedPlanner::TenantSelection::first_eligible() const {
  DemandClass* best = nullptr;
  for (DemandClass& demand_class : planner_.classes_) {
    if (!is_eligible(demand_class)) continue;
    if (best != nullptr && !goes_before(demand_class.walk.entry(), best->walk.entry(), view_.now()))
      continue;
    best = &demand_class;
  }
  return best;
}

// Decides on a running job: it keeps its GPUs, is left to a later round, or stops.
void ComposedPlanner::TenantSelection::decide_running(std::size_t index) {
  const bool own = near_ == 0;
  const JobId job = planner_.running_[index].job;
  const JobSpec& spec = view_.spec(job);
  if (own && planner_.is_protected(view_, job)) return;
  const std::size_t far = tenancy_.distance(spec.tenant, spec.gpus);
  planner_.borrowed_[job] = static_cast<std::uint8_t>(far);
  if (own) reserves_.release_next(spec.tenant, tenancy_, budget_);
  if (far > near_ && planner_.may_reclaim_) {
    later_.push_back(index);
    rescan_ = true;
    return;
  }
  if (spec.gpus <= budget_ - reserves_.for_others(spec.tenant)) {
    budget_ -= spec.gpus;
    tenancy_.charge(spec);
    if (far != 0) reserves_.update(spec.tenant, tenancy_, budget_);
  } else {
    planner_.stops_.push_back(job);
    rescan_ = true;
  }
}

void ComposedPlanner::TenantSelection::select_first_of(DemandClass& demand_class) {
  const JobId job = demand_class.walk.entry().job;
  planner_.borrowed_[job] = static_cast<std::uint8_t>(planner_.distance(demand_class));
  planner_.selected_.push_back(job);
  budget_ -= demand_class.gpus;
  tenancy_.charge(view_.spec(job));
  reserves_.update(demand_class.tenant, tenancy_, budget_);
  demand_class.walk.next();
  rescan_ = true;
}

void ComposedPlanner::TenantSelection::select_round() {
  std::vector<std::size_t>& deferred = planner_.deferred_;
  deferred.swap(later_);
  later_.clear();
  const std::size_t many = deferred.size();
  std::size_t next = 0;
  DemandClass* best = nullptr;
  rescan_ = true;
  while (true) {
    if (rescan_ || (best != nullptr && !is_eligible(*best))) {
      rescan_ = false;
      best = first_eligible();
    }
    if (best == nullptr && next == many) return;
    const std::size_t index = next == many ? 0 : deferred[next];
    if (next < many && (best == nullptr || compare(planner_.running_[index].rank,
                                                   best->walk.entry().rank, view_.now()) <= 0)) {
      ++next;
      decide_running(index);
    } else {
      select_first_of(*best);
    }
  }
}

void ComposedPlanner::TenantSelection::run() {
  begin();
  later_.resize(planner_.running_.size());
  for (std::size_t i = 0; i < later_.size(); ++i) later_[i] = i;
  for (near_ = 0; near_ <= tenancy_.farthest(); ++near_) select_round();
  planner_.await_growth(view_);
}

// If nothing was reclaimed because the cluster was not full enough, but it is full now and an owner
// waits, the selection is repeated.
void ComposedPlanner::select_by_count_and_tenant(const View& view, std::int32_t free_gpus) {
  TenantSelection(*this, view).run();
  if (may_reclaim_ || !tenancy_->may_reclaim(budget_)) return;
  const auto waits = [&](const DemandClass& demand_class) {
    return !demand_class.walk.done() && distance(demand_class) < tenancy_->farthest();
  };
  const auto loses = [&](JobId job) {
    return tenancy_->distance(view.spec(job).tenant, view.spec(job).gpus) < tenancy_->farthest();
  };
  if (std::none_of(classes_.begin(), classes_.end(), waits) &&
      std::none_of(stops_.begin(), stops_.end(), loses)) {
    return;
  }
  may_reclaim_ = true;
  selected_.clear();
  stops_.clear();
  budget_ = free_gpus;
  TenantSelection(*this, view).run();
}

}  // namespace muster
