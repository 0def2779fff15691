#include "engine/chain/chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/types/check.h"
#include "base/types/digest.h"
#include "base/types/saturate.h"

namespace muster {

using WhenStuck = PolicyTraits::WhenStuck;

Chain::Chain(const Cluster& cluster, Owned<Policy> policy, Owned<Mechanism> mechanism,
             Owned<Placer> placer, const ChainOptions& options)
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

Pooling Chain::pooling() const {
  const bool whole = mechanism_->pooling() == Pooling::kWholeCluster ||
                     placer_->pooling() == Pooling::kWholeCluster;
  return whole ? Pooling::kWholeCluster : Pooling::kPerNode;
}

std::uint32_t Chain::shape_of(const JobSpec& spec, std::span<const NodeId> avoid) {
  const bool by_profile = mechanism_->depends_on_profile() || placer_->depends_on_profile();
  const ProfileId profile = by_profile ? spec.profile : ProfileId();
  const TenantId tenant = tenancy_ ? spec.tenant : TenantId();
  const UserId user = tenancy_ && tenancy_->by_user() ? spec.user : UserId();
  std::size_t unused = shapes_.size();
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    const Shape& shape = shapes_[i];
    if (shape.gpus == spec.gpus && shape.gpu_type == spec.gpu_type && shape.profile == profile &&
        shape.tenant == tenant && shape.user == user && shape.least == spec.least &&
        shape.spread == spec.spread && std::ranges::equal(shape.avoid, avoid)) {
      return static_cast<std::uint32_t>(i);
    }
    if (shape.is_rare() && shape.queue.empty()) unused = i;
  }
  Shape fresh;
  fresh.tenant = tenant;
  fresh.user = user;
  fresh.gpus = spec.gpus;
  fresh.gpu_type = spec.gpu_type;
  fresh.profile = profile;
  fresh.least = spec.least;
  fresh.spread = spec.spread;
  if (avoid.empty()) fresh.refusal = find_refusal(spec);
  fresh.avoid.assign(avoid.begin(), avoid.end());
  ever_particular_ |= spec.is_particular();
  if (!fresh.is_rare()) unused = shapes_.size();
  if (unused == shapes_.size()) {
    shapes_.push_back(std::move(fresh));
  } else {
    shapes_[unused] = std::move(fresh);
  }
  return static_cast<std::uint32_t>(unused);
}

bool Chain::could_avoid(const JobSpec& spec, std::span<const NodeId> servers) const {
  if (options_.rebuild) return false;  // As published: every place is chosen anew all the time.
  if (cluster_->why_never(spec)) return false;
  Ask ask;
  ask.spec = &spec;
  ask.avoid = servers;
  mechanism_->place(*cluster_, *placer_, Books(cluster_->topology(), pooling()), ask);
  return !ask.given.empty();
}

std::optional<std::string> Chain::find_refusal(const JobSpec& spec) const {
  if (std::optional<std::string> why = cluster_->why_never(spec)) return why;
  Ask ask;
  ask.spec = &spec;
  mechanism_->place(*cluster_, *placer_, Books(cluster_->topology(), pooling()), ask);
  if (!ask.given.empty()) return std::nullopt;
  return what_it_asks(spec) + " cannot be placed even on the empty cluster";
}

std::optional<std::string> Chain::refuse(const JobSpec& spec) {
  return shapes_[shape_of(spec)].refusal;
}

Rank Chain::rank_of(const View& view, JobId job) const {
  const JobFacts facts = view.facts(job);
  Rank rank = policy_->rank(facts);
  rank.level = -view.spec(job).priority;
  if (options_.stable_ties && traits_.improves) {
    // Who reached this rank first; of two that reached it now, the one that came more slowly, and
    // last one that has only just been submitted.
    const bool fresh = facts.gpu_us == 0 && !view.is_placed(job);
    rank.tie = saturating_add(saturating_multiply(facts.last_ran.us(), 1024),
                              fresh ? 1023 : std::min(facts.gpus, 1022));
  } else if (options_.stable_ties && traits_.drifts) {
    rank.tie = static_cast<std::int64_t>(job.index());
  }
  return rank;
}

void Chain::enqueue(const View& view, JobId job) {
  if (seats_.size() < view.job_count()) {
    seats_.resize(view.job_count());
    believed_end_.resize(view.job_count());
    borrowed_.resize(view.job_count());
    running_.resize(view.job_count());
  }
  Seat& seat = seats_[job];
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

void Chain::seat(const View& view, JobId job) {
  Seat& seat = seats_[job];
  seat.taken = true;
  seat.shape = shape_of(view.spec(job), view.avoided(job));
  Shape& shape = shapes_[seat.shape];
  if (shape.queue.empty()) {  // Until the next plan, which may know better.
    const bool over = tenancy_ && !is_within(shape);
    shape.clock.set(over ? WaitCause::kFairShare : WaitCause::kOrder, view.now());
  }
  shape.clock.join(seat.waited, view.now());
  if (tenancy_ && !seat.known) seat.waited.over_part_on_arrival = !is_within(shape);
  seat.known = true;
  seat.slot = shape.queue.insert(job, rank_of(view, job), view.now());
  if (traits_.when_stuck == WhenStuck::kReserve) {
    shape.ages.insert(job, view.estimate(job));
  }
  waiting_gpus_ += shape.gpus;
  if (tenancy_) tenancy_->want(shape.tenant, shape.gpus);
}

void Chain::reseat(const View& view, JobId job) {
  unseat(job, view.now());
  seat(view, job);
}

void Chain::unseat(JobId job, Instant now) {
  Seat& seat = seats_[job];
  MUSTER_CHECK(seat.taken);
  seat.taken = false;
  Shape& shape = shapes_[seat.shape];
  shape.clock.leave(seat.waited, now);
  waiting_gpus_ -= shape.gpus;
  if (tenancy_) tenancy_->want(shape.tenant, -shape.gpus);
  shape.queue.remove(seat.slot, now);
  if (traits_.when_stuck == WhenStuck::kReserve) shape.ages.remove(job);
}

void Chain::forget(const View& view, JobId job, Farewell farewell) {
  if (seats_[job].taken) unseat(job, view.now());
  running_.drop(job);
  if (tenancy_ && view.is_placed(job)) {
    tenancy_->refund(view.spec(job));
    for (Shape& shape : shapes_) {  // With rounds it may be a while before the next plan.
      if (shape.clock.cause() != WaitCause::kFairShare || !is_within(shape)) continue;
      shape.clock.set(WaitCause::kOrder, view.now());
    }
  }
  if (traits_.remembers) policy_->ended(view.facts(job), farewell == Farewell::kCompleted);
  set_changed_ = true;
}

// Why those still wait whom this plan did not start.
void Chain::note_causes(const View& view, const Draft& draft) {
  for (Shape& shape : shapes_) {
    if (shape.queue.empty()) continue;
    const std::int32_t free = draft.books().free_gpus(shape.gpu_type);
    const WaitCause cause = tenancy_ && !is_within(shape)          ? WaitCause::kFairShare
                            : shape.no_place && shape.gpus <= free ? WaitCause::kFragmentation
                                                                   : WaitCause::kOrder;
    shape.clock.set(cause, view.now());
  }
}

WaitSplit Chain::waited(JobId job, Instant now) const {
  if (!seats_.contains(job)) return {};
  WaitSplit split = seats_[job].waited;
  if (seats_[job].taken) split += shapes_[seats_[job].shape].clock.at(now);
  return split;
}

void Chain::review(const View& view) {
  for (const JobId job : view.placed()) policy_->review(view.facts(job));
  moved_.clear();
  policy_->reviewed(view.now(), moved_);
  for (const JobId job : moved_) {
    Seat& seat = seats_[job];
    if (!seat.taken) continue;
    RankedQueue& queue = shapes_[seat.shape].queue;
    queue.remove(seat.slot, view.now());
    seat.slot = queue.insert(job, rank_of(view, job), view.now());
  }
}

Instant Chain::review_at() const {
  // Where ticks come anyway, whoever was too young to be stopped is looked at again at the next.
  const Instant grown = drifts() ? Instant::never() : young_until_;
  return traits_.remembers ? std::min(grown, policy_->review_at()) : grown;
}

Ask Chain::ask_for(const View& view, JobId job) const {
  Ask ask;
  ask.job = job;
  ask.spec = &view.spec(job);
  ask.salt = Digest::mix(options_.seed ^ Digest::mix(std::uint64_t{job.index()} << 32 ^
                                                     static_cast<std::uint64_t>(view.now().us())));
  ask.avoid = view.avoided(job);
  return ask;
}

void Chain::plan(const View& view, Draft& draft, Occasion occasion) {
  starts_.clear();
  selected_.clear();
  stops_.clear();
  if (traits_.remembers) review(view);
  if (options_.rebuild) return rebuild(view, draft);
  if (occasion == Occasion::kIdleTick && !(drifts() && view.waiting_count() > 0)) return;
  young_until_ = Instant::never();
  kept_.reset();
  const bool may_preempt = traits_.preempts && (!traits_.drifts || occasion != Occasion::kNews);
  budget_ = draft.books().free_gpus();
  for (Shape& shape : shapes_) shape.no_place = false;
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

std::int32_t Chain::free_gpus(const Draft& draft) const {
  return adaptive_ ? budget_ : draft.books().free_gpus();
}

// By count; GPUs of servers that it avoids are not there for it.
bool Chain::fits_budget(const View& view, const Draft& draft, JobId job) const {
  std::int32_t budget = budget_;
  for (const NodeId node : view.avoided(job)) budget -= draft.books().free_gpus(node);
  return view.spec(job).gpus <= budget;
}

// Gives one job its GPUs if it fits: a real place, or a part of the budget for adaptive mechanisms.
bool Chain::take(const View& view, Draft& draft, JobId job) {
  if (adaptive_) {
    if (!fits_budget(view, draft, job)) return false;
    if (particular_ && !all_have_place(view, draft, job)) return false;
    budget_ -= view.spec(job).gpus;
  } else {
    Ask ask = ask_for(view, job);
    mechanism_->place(*cluster_, *placer_, draft.books(), ask);
    if (ask.given.empty() || !draft.start(job, std::move(ask.given))) return false;
  }
  starts_.push_back(job);
  note_start(view, job);
  return true;
}

bool Chain::resume(const View& view, Draft& draft, JobId job, Placement placement) {
  if (!draft.start(job, std::move(placement))) return false;
  note_start(view, job);
  set_changed_ = true;
  return true;
}

void Chain::note_start(const View& view, JobId job) {
  unseat(job, view.now());
  if (tenancy_) {
    const JobSpec& spec = view.spec(job);
    borrowed_[job] = static_cast<std::uint8_t>(tenancy_->distance(spec.tenant, spec.gpus));
    tenancy_->charge(spec);
  }
  if (traits_.remembers) policy_->started(view.facts(job));
  if (traits_.preempts) add_running(view, job);
  if (traits_.when_stuck == WhenStuck::kReserve) {
    believed_end_[job] = view.now() + view.facts(job).remaining();
  }
}

}  // namespace muster
