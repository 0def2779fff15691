#include "engine/chain/composed_planner.h"

#include <algorithm>
#include <utility>

#include "base/types/check.h"

namespace muster {

using BlockedHeadRule = PolicyTraits::BlockedHeadRule;

ComposedPlanner::ComposedPlanner(const Cluster& cluster, Owned<Policy> policy,
                                 Owned<Mechanism> mechanism, Owned<Placer> placer,
                                 const ComposedPlannerOptions& options)
    : cluster_(&cluster),
      policy_(std::move(policy)),
      mechanism_(std::move(mechanism)),
      placer_(std::move(placer)),
      options_(options),
      traits_(policy_->traits()),
      adaptive_(mechanism_->adaptive()) {
  if (options.tenants != nullptr)
    tenancy_.emplace(*options.tenants, cluster.topology().total().gpus);
}

Pooling ComposedPlanner::pooling() const { return pooling_of(*mechanism_, *placer_); }

std::uint32_t ComposedPlanner::class_of(const JobSpec& spec, std::span<const NodeId> avoid) {
  const bool by_profile = mechanism_->depends_on_profile() || placer_->depends_on_profile();
  const ProfileId profile = by_profile ? spec.profile : ProfileId();
  const TenantId tenant = tenancy_ ? spec.tenant : TenantId();
  const UserId user = tenancy_ && tenancy_->by_user() ? spec.user : UserId();
  std::size_t unused = classes_.size();
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    const DemandClass& demand_class = classes_[i];
    if (demand_class.gpus == spec.gpus && demand_class.gpu_type == spec.gpu_type &&
        demand_class.profile == profile && demand_class.tenant == tenant &&
        demand_class.user == user && demand_class.least == spec.least &&
        demand_class.spread == spec.spread && std::ranges::equal(demand_class.avoid, avoid)) {
      return static_cast<std::uint32_t>(i);
    }
    if (demand_class.is_rare() && demand_class.queue.empty()) unused = i;
  }
  DemandClass fresh;
  fresh.tenant = tenant;
  fresh.user = user;
  fresh.gpus = spec.gpus;
  fresh.gpu_type = spec.gpu_type;
  fresh.profile = profile;
  fresh.least = spec.least;
  fresh.spread = spec.spread;
  if (avoid.empty()) fresh.refusal = why_never_placed(*cluster_, *mechanism_, *placer_, spec);
  fresh.avoid.assign(avoid.begin(), avoid.end());
  ever_particular_ |= spec.is_particular();
  if (!fresh.is_rare()) unused = classes_.size();
  if (unused == classes_.size()) {
    classes_.push_back(std::move(fresh));
  } else {
    classes_[unused] = std::move(fresh);
  }
  return static_cast<std::uint32_t>(unused);
}

bool ComposedPlanner::could_avoid(const JobSpec& spec, std::span<const NodeId> nodes) const {
  if (cluster_->why_never(spec)) return false;
  Ask ask;
  ask.spec = &spec;
  ask.avoid = nodes;
  mechanism_->place(*cluster_, *placer_, ResourceLedger(cluster_->topology(), pooling()), ask);
  return !ask.given.empty();
}

std::optional<std::string> ComposedPlanner::refuse(const JobSpec& spec) {
  return classes_[class_of(spec)].refusal;
}

Rank ComposedPlanner::rank_of(const View& view, JobId job) const {
  Rank rank = policy_->rank(view.facts(job));
  rank.level = -view.spec(job).priority;
  return rank;
}

void ComposedPlanner::enqueue(const View& view, JobId job) {
  if (seats_.size() < view.job_count()) {  // Doubled, because one row at a time costs 4% of a run.
    const std::size_t rows = std::max(view.job_count(), 2 * seats_.size());
    seats_.resize(rows);
    estimated_end_.resize(rows);
    borrowed_.resize(rows);
    running_.resize(rows);
  }
  QueueSeat& seat = seats_[job];
  MUSTER_CHECK(!seat.taken);
  const bool ran = running_.drop(job);
  if (traits_.remembers) {
    const JobFacts facts = view.facts(job);
    ran ? policy_->stopped(facts) : policy_->submitted(facts);
  }
  this->seat(view, job);
  ++estimates_seen_;
  estimate_sum_us_ += static_cast<double>(view.estimate(job).us());
}

void ComposedPlanner::seat(const View& view, JobId job) {
  QueueSeat& seat = seats_[job];
  seat.taken = true;
  seat.demand_class = class_of(view.spec(job), view.avoided(job));
  DemandClass& demand_class = classes_[seat.demand_class];
  if (demand_class.queue.empty()) {  // Provisional, until the next plan.
    const bool over = tenancy_ && !is_within(demand_class);
    demand_class.clock.set(over ? WaitCause::kFairShare : WaitCause::kOrder, view.now());
  }
  demand_class.clock.join(seat.waited, view.now());
  if (tenancy_ && !seat.known) seat.waited.over_part_on_arrival = !is_within(demand_class);
  seat.known = true;
  seat.slot = demand_class.queue.insert(job, rank_of(view, job), view.now());
  if (traits_.when_stuck == BlockedHeadRule::kReserve) {
    demand_class.ages.insert(job, view.estimate(job));
  }
  waiting_gpus_ += demand_class.gpus;
  if (tenancy_) tenancy_->want(demand_class.tenant, demand_class.gpus);
}

void ComposedPlanner::reseat(const View& view, JobId job) {
  unseat(job, view.now());
  seat(view, job);
}

void ComposedPlanner::unseat(JobId job, Instant now) {
  QueueSeat& seat = seats_[job];
  MUSTER_CHECK(seat.taken);
  seat.taken = false;
  DemandClass& demand_class = classes_[seat.demand_class];
  demand_class.clock.leave(seat.waited, now);
  waiting_gpus_ -= demand_class.gpus;
  if (tenancy_) tenancy_->want(demand_class.tenant, -demand_class.gpus);
  demand_class.queue.remove(seat.slot, now);
  if (traits_.when_stuck == BlockedHeadRule::kReserve) demand_class.ages.remove(job);
}

void ComposedPlanner::forget(const View& view, JobId job, JobExit job_exit) {
  if (seats_[job].taken) unseat(job, view.now());
  running_.drop(job);
  if (tenancy_ && view.is_placed(job)) {
    tenancy_->refund(view.spec(job));
    // With rounds, the next plan may be much later.
    for (DemandClass& demand_class : classes_) {
      if (demand_class.clock.cause() != WaitCause::kFairShare || !is_within(demand_class)) continue;
      demand_class.clock.set(WaitCause::kOrder, view.now());
    }
  }
  if (traits_.remembers) policy_->ended(view.facts(job), job_exit == JobExit::kCompleted);
  set_changed_ = true;
}

// Sets why the jobs that this plan did not start still wait.
void ComposedPlanner::note_causes(const View& view, const Draft& draft) {
  for (DemandClass& demand_class : classes_) {
    if (demand_class.queue.empty()) continue;
    const std::int32_t free = draft.ledger().free_gpus(demand_class.gpu_type);
    const WaitCause cause = tenancy_ && !is_within(demand_class) ? WaitCause::kFairShare
                            : demand_class.no_place && demand_class.gpus <= free
                                ? WaitCause::kFragmentation
                                : WaitCause::kOrder;
    demand_class.clock.set(cause, view.now());
  }
}

WaitSplit ComposedPlanner::waited(JobId job, Instant now) const {
  if (!seats_.contains(job)) return {};
  WaitSplit split = seats_[job].waited;
  if (seats_[job].taken) split += classes_[seats_[job].demand_class].clock.at(now);
  return split;
}

void ComposedPlanner::review(const View& view) {
  for (const JobId job : view.placed()) policy_->review(view.facts(job));
  moved_.clear();
  policy_->reviewed(view.now(), moved_);
  for (const JobId job : moved_) {
    QueueSeat& seat = seats_[job];
    if (!seat.taken) continue;
    RankedQueue& queue = classes_[seat.demand_class].queue;
    queue.remove(seat.slot, view.now());
    seat.slot = queue.insert(job, rank_of(view, job), view.now());
  }
}

Instant ComposedPlanner::review_at() const {
  // With ticks, protected jobs are considered again at the next tick anyway.
  const Instant grown = drifts() ? Instant::never() : young_until_;
  return traits_.remembers ? std::min(grown, policy_->review_at()) : grown;
}

Ask ComposedPlanner::ask_for(const View& view, JobId job) const {
  return muster::ask_for(view, job, options_.seed);
}

void ComposedPlanner::plan(const View& view, Draft& draft, PlanTrigger trigger) {
  starts_.clear();
  selected_.clear();
  stops_.clear();
  if (traits_.remembers) review(view);
  if (trigger == PlanTrigger::kIdleTick && !(drifts() && view.waiting_count() > 0)) return;
  young_until_ = Instant::never();
  kept_.reset();
  const bool may_preempt = traits_.preempts && (!traits_.drifts || trigger != PlanTrigger::kNews);
  budget_ = draft.ledger().free_gpus();
  for (DemandClass& demand_class : classes_) demand_class.no_place = false;
  if (tenancy_) {
    may_reclaim_ = tenancy_->may_reclaim(budget_);
    charge_all(view, draft);
    tenancy_->share_out();
  }
  particular_ = adaptive_ && ever_particular_ && anyone_particular(view);
  if (may_preempt && !view.placed().empty()) {
    preempt(view, draft);
  } else if (tenancy_) {
    fill_by_tenants(view, draft);
  } else {
    fill(view, draft);
  }
  if (adaptive_ && (set_changed_ || !starts_.empty() || !stops_.empty())) {
    returning_.clear();
    rebalance(view, draft);
    bring_back(view, draft);
  }
  note_causes(view, draft);
}

std::int32_t ComposedPlanner::free_gpus(const Draft& draft) const {
  return adaptive_ ? budget_ : draft.ledger().free_gpus();
}

// Compares GPU counts. Free GPUs of avoided nodes do not count.
bool ComposedPlanner::fits_budget(const View& view, const Draft& draft, JobId job) const {
  std::int32_t budget = budget_;
  for (const NodeId node : view.avoided(job)) budget -= draft.ledger().free_gpus(node);
  return view.spec(job).gpus <= budget;
}

// Gives a job its GPUs if it fits: a place, or a part of the budget for adaptive mechanisms.
bool ComposedPlanner::take(const View& view, Draft& draft, JobId job) {
  if (adaptive_) {
    if (!fits_budget(view, draft, job)) return false;
    if (particular_ && !all_have_place(view, draft, job)) return false;
    budget_ -= view.spec(job).gpus;
  } else {
    Ask ask = ask_for(view, job);
    mechanism_->place(*cluster_, *placer_, draft.ledger(), ask);
    if (ask.given.empty() || !draft.start(job, std::move(ask.given))) return false;
  }
  starts_.push_back(job);
  note_start(view, job);
  return true;
}

bool ComposedPlanner::resume(const View& view, Draft& draft, JobId job, Placement placement) {
  if (!draft.start(job, std::move(placement))) return false;
  note_start(view, job);
  set_changed_ = true;
  return true;
}

void ComposedPlanner::note_start(const View& view, JobId job) {
  unseat(job, view.now());
  if (tenancy_) {
    const JobSpec& spec = view.spec(job);
    borrowed_[job] = static_cast<std::uint8_t>(tenancy_->distance(spec.tenant, spec.gpus));
    tenancy_->charge(spec);
  }
  if (traits_.remembers) policy_->started(view.facts(job));
  if (traits_.preempts) add_running(view, job);
  if (traits_.when_stuck == BlockedHeadRule::kReserve) {
    estimated_end_[job] = view.now() + view.expected_remaining(job);
  }
}

}  // namespace muster
