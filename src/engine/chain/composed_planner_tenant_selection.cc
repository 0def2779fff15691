// Chain with tenants and preemption: who should run when each tenant gets its own part first.

#include <algorithm>
#include <vector>

#include "engine/chain/chain.h"

namespace muster {

// As select_by_count, in rounds: first those within their tenant's part, then those that borrow
// what is left, from nearby first. A tenant's waiting jobs displace its own running ones that rank
// behind, and those of anybody who borrows; not what is another tenant's own.
class Chain::TenantSelection {
 public:
  TenantSelection(Chain& chain, const View& view)
      : chain_(chain), view_(view), tenancy_(*chain.tenancy_), budget_(chain.budget_) {}
  void run();

 private:
  // How many of the GPUs yet to be handed out are not for others: those of running jobs that their
  // tenant owns and that are not yet come to. Its own waiting jobs may use them up.
  struct Reserves {
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

  void begin();
  void select_round();
  bool is_eligible(const Shape& shape) const;
  Shape* first_eligible() const;
  void come_to_running(std::size_t index);
  void select_first_of(Shape& shape);

  Chain& chain_;
  const View& view_;
  Tenancy& tenancy_;
  std::int32_t& budget_;
  Reserves reserves_;
  std::vector<std::size_t> later_;  // Running jobs not yet decided on, by index.
  std::size_t near_ = 0;            // Jobs may borrow from so far away in this round.
  bool look_ = true;                // Somebody may have become eligible who was not.
};

// Counts the GPUs of all running jobs that may be stopped, and what their tenants own of them.
void Chain::TenantSelection::begin() {
  reserves_.of.resize(chain_.options_.tenants->size());
  tenancy_.begin();
  chain_.young_.clear();
  for (std::size_t i = 0; i < chain_.running_.size(); ++i) {
    const JobId job = chain_.running_[i].job;
    const JobSpec& spec = view_.spec(job);
    if (chain_.is_protected(view_, job)) {
      chain_.young_.push_back(i);
      chain_.borrowed_[job] = static_cast<std::uint8_t>(tenancy_.distance(spec.tenant, spec.gpus));
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
  for (Shape& shape : chain_.shapes_) {
    shape.queue.advance(view_.now());
    shape.walk.begin(shape.queue, view_.now());
    shape.out = chain_.sits_out(view_, shape);
  }
}

bool Chain::TenantSelection::is_eligible(const Shape& shape) const {
  return !shape.out && !shape.walk.done() &&
         shape.gpus <= budget_ - reserves_.for_others(shape.tenant) &&
         (near_ == 0 ? chain_.is_within(shape)
                     : near_ == tenancy_.farthest() || chain_.distance(shape) <= near_);
}

Chain::Shape* Chain::TenantSelection::first_eligible() const {
  Shape* best = nullptr;
  for (Shape& shape : chain_.shapes_) {
    if (!is_eligible(shape)) continue;
    if (best != nullptr && !goes_before(shape.walk.entry(), best->walk.entry(), view_.now()))
      continue;
    best = &shape;
  }
  return best;
}

// The next running job keeps its GPUs, is decided on in a later round, or stops.
void Chain::TenantSelection::come_to_running(std::size_t index) {
  const bool own = near_ == 0;
  const JobId job = chain_.running_[index].job;
  const JobSpec& spec = view_.spec(job);
  if (own && chain_.is_protected(view_, job)) return;
  const std::size_t far = tenancy_.distance(spec.tenant, spec.gpus);
  chain_.borrowed_[job] = static_cast<std::uint8_t>(far);
  if (own) reserves_.come_to(spec.tenant, tenancy_, budget_);
  if (far > near_ && chain_.may_reclaim_) {
    later_.push_back(index);
    look_ = true;
    return;
  }
  if (spec.gpus <= budget_ - reserves_.for_others(spec.tenant)) {
    budget_ -= spec.gpus;
    tenancy_.charge(spec);
    if (far != 0) reserves_.update(spec.tenant, tenancy_, budget_);
  } else {
    chain_.stops_.push_back(job);
    look_ = true;
  }
}

void Chain::TenantSelection::select_first_of(Shape& shape) {
  const JobId job = shape.walk.entry().job;
  chain_.borrowed_[job] = static_cast<std::uint8_t>(chain_.distance(shape));
  chain_.selected_.push_back(job);
  budget_ -= shape.gpus;
  tenancy_.charge(view_.spec(job));
  reserves_.update(shape.tenant, tenancy_, budget_);
  shape.walk.next();
  look_ = true;
}

void Chain::TenantSelection::select_round() {
  std::vector<std::size_t>& deferred = chain_.deferred_;
  deferred.swap(later_);
  later_.clear();
  const std::size_t many = deferred.size();
  std::size_t next = 0;
  Shape* best = nullptr;
  look_ = true;
  while (true) {
    if (look_ || (best != nullptr && !is_eligible(*best))) {
      look_ = false;
      best = first_eligible();
    }
    if (best == nullptr && next == many) return;
    const std::size_t index = next == many ? 0 : deferred[next];
    if (next < many && (best == nullptr || compare(chain_.running_[index].rank,
                                                   best->walk.entry().rank, view_.now()) <= 0)) {
      ++next;
      come_to_running(index);
    } else {
      select_first_of(*best);
    }
  }
}

void Chain::TenantSelection::run() {
  begin();
  later_.resize(chain_.running_.size());
  for (std::size_t i = 0; i < later_.size(); ++i) later_[i] = i;
  for (near_ = 0; near_ <= tenancy_.farthest(); ++near_) select_round();
  chain_.await_growth(view_);
}

// If nothing was reclaimed because the cluster was not full enough, but it is full now and an owner
// waits, everything is selected again.
void Chain::select_by_count_and_tenant(const View& view, std::int32_t free_gpus) {
  TenantSelection(*this, view).run();
  if (may_reclaim_ || !tenancy_->may_reclaim(budget_)) return;
  const auto waits = [&](const Shape& shape) {
    return !shape.walk.done() && distance(shape) < tenancy_->farthest();
  };
  const auto loses = [&](JobId job) {
    return tenancy_->distance(view.spec(job).tenant, view.spec(job).gpus) < tenancy_->farthest();
  };
  if (std::none_of(shapes_.begin(), shapes_.end(), waits) &&
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
