// Chain with tenants: what is a tenant's own right, what is lent, and how it is taken back.

#include <algorithm>
#include <tuple>
#include <utility>

#include "engine/chain/chain.h"

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

// Starts waiting jobs without preemption by rank: owners first, then those that borrow. GPUs that
// were lent are taken back for owners that found no place.
class Chain::Lending {
 public:
  Lending(Chain& chain, const View& view, Draft& draft)
      : chain_(chain), view_(view), draft_(draft) {}
  void run();

 private:
  void lend(std::size_t near);
  bool claims(const Shape& shape) const;
  bool is_claimed() const;
  void label_borrowed();
  void call_off(std::size_t first);
  void reclaim();

  Chain& chain_;
  const View& view_;
  Draft& draft_;
};

// Which running jobs their tenant has no right to: going from those that came first to those that
// came last, the ones for which there is no room left in its part. Whole gangs.
void Chain::Lending::label_borrowed() {
  std::vector<std::tuple<Instant, JobId>> by_age;
  for (const JobId job : view_.placed()) {
    if (draft_.placement(job) != nullptr) by_age.emplace_back(view_.held_since(job), job);
  }
  std::sort(by_age.begin(), by_age.end());
  chain_.lent_.clear();
  chain_.tenancy_->begin();
  for (const JobId job : chain_.starts_) chain_.tenancy_->charge(view_.spec(job));
  for (const auto& [since, job] : by_age) {
    const JobSpec& spec = view_.spec(job);
    if (!chain_.tenancy_->within(spec.tenant, spec.gpus)) {
      chain_.lent_.push_back(job);
      continue;
    }
    chain_.borrowed_[job] = 0;
    chain_.tenancy_->charge(spec);
  }
  for (const JobId job :
       chain_.lent_) {  // From nearby, as long as all who own something there have it.
    const JobSpec& spec = view_.spec(job);
    const std::size_t far = chain_.tenancy_->distance(spec.tenant, spec.gpus);
    chain_.borrowed_[job] = static_cast<std::uint8_t>(far);
    chain_.tenancy_->charge_lender(spec.tenant, far, spec.gpus);
  }
  chain_.charge_all(view_, draft_);
}

void Chain::Lending::lend(std::size_t near) {
  const bool nearby = near < chain_.tenancy_->farthest();
  chain_.fill(view_, draft_, nearby ? std::optional(near) : std::nullopt);
}

bool Chain::Lending::claims(const Shape& shape) const {
  return !shape.queue.empty() && !shape.refusal &&
         chain_.distance(shape) < chain_.tenancy_->farthest() &&
         !chain_.is_passed_by(shape, view_.now());
}

bool Chain::Lending::is_claimed() const {
  return std::any_of(chain_.shapes_.begin(), chain_.shapes_.end(),
                     [&](const Shape& shape) { return claims(shape); });
}

// Starts of this plan, from the given one on.
void Chain::Lending::call_off(std::size_t first) {
  for (std::size_t i = first; i < chain_.starts_.size(); ++i) {
    const JobSpec& spec = view_.spec(chain_.starts_[i]);
    if (chain_.adaptive_) {
      chain_.budget_ += spec.gpus;
    } else {
      draft_.stop(chain_.starts_[i]);
    }
    chain_.tenancy_->refund(spec);
    chain_.enqueue(view_, chain_.starts_[i]);
  }
  chain_.starts_.resize(first);
}

// Without preemption by rank: a job within its tenant's part that found no place may take back what
// was lent, if the cluster is full enough.
void Chain::Lending::reclaim() {
  label_borrowed();
  if (chain_.lent_.empty()) return;
  for (Shape& shape : chain_.shapes_) shape.out = false;
  while (true) {
    Shape* best = nullptr;
    for (Shape& shape : chain_.shapes_) {
      if (shape.out || !claims(shape)) continue;
      if (best == nullptr || chain_.served_before(shape, *best, view_.now())) best = &shape;
    }
    if (best == nullptr) return;
    if (chain_.reclaim_for(view_, draft_, best->queue.first().job)) {
      label_borrowed();
      continue;
    }
    for (const JobId each : chain_.lent_) {
      if (chain_.is_protected(view_, each)) chain_.review_young(chain_.safe_until(view_, each));
    }
    best->out = true;
  }
}

// Owners first; then what was lent is taken back for those whom that is not enough; and only what
// is left after that is lent, nearby first.
void Chain::Lending::run() {
  const std::size_t farthest = chain_.tenancy_->farthest();
  std::size_t owners = chain_.starts_.size();  // So many of the starts are no loans.
  chain_.may_reclaim_ = false;
  for (std::size_t near = 0; near <= farthest; ++near) {
    lend(near);
    if (near == 0) owners = chain_.starts_.size();
    const bool was_full =
        std::exchange(chain_.may_reclaim_, chain_.tenancy_->may_reclaim(chain_.free_gpus(draft_)));
    if (chain_.may_reclaim_ && (near == 0 || !was_full) && is_claimed()) {
      // If it is the new loans that fill the cluster, owners who still wait come before them.
      call_off(owners);
      reclaim();
      for (std::size_t again = 1; again <= near; ++again) lend(again);
    } else if (chain_.may_reclaim_ && near < farthest && is_claimed()) {
      reclaim();
    }
    if (near == 0) owners = chain_.starts_.size();
  }
}

void Chain::fill_by_tenants(const View& view, Draft& draft) { Lending(*this, view, draft).run(); }

}  // namespace muster
