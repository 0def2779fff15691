#include "engine/planner/philly.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

#include "base/types/check.h"
#include "engine/planner/class_order.h"

namespace muster {

Philly::Philly(const Cluster& cluster, const PhillyOptions& options)
    : cluster_(&cluster), options_(options), asked_of_(cluster.topology().node_count()) {
  MUSTER_CHECK(options.acquire > Duration() && options.back_off > Duration());
  if (options.tenants != nullptr) {
    tenancy_.emplace(*options.tenants, cluster.topology().total().gpus);
  }
}

std::optional<std::string> Philly::refuse(const JobSpec& spec) {
  if (std::optional<std::string> why = cluster_->why_never(spec)) return why;
  if (could_avoid(spec, {})) return std::nullopt;
  return what_it_asks(spec) + (options_.relax_after > 0
                                   ? " cannot be placed even on the empty cluster"
                                   : " do not fit into one rack, and locality is never relaxed");
}

bool Philly::could_avoid(const JobSpec& spec, std::span<const NodeId> nodes) const {
  const Locality worst = options_.relax_after == 0 ? Locality::kMinNodes : Locality::kAnywhere;
  Placement place;
  const ResourceLedger empty(cluster_->topology(), Pooling::kPerNode);
  return place_locally(*cluster_, empty, demand_of(spec, nodes), worst, place);
}

std::uint32_t Philly::group_of(const JobSpec& spec, std::span<const NodeId> avoid) {
  const TenantId tenant = tenancy_ ? spec.tenant : TenantId();
  std::size_t unused = groups_.size();
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const Group& group = groups_[i];
    if (group.claims) continue;
    if (group.is_for(tenant, spec, avoid)) return static_cast<std::uint32_t>(i);
    const bool rare = !avoid.empty() || spec.is_particular();
    if (rare && group.is_rare() && group.tickets == 0) unused = i;
  }
  if (unused == groups_.size()) groups_.resize(groups_.size() + 2);
  Group fresh;
  fresh.tenant = tenant;
  fresh.gpus = spec.gpus;
  fresh.gpu_type = spec.gpu_type;
  fresh.least = spec.least;
  fresh.spread = spec.spread;
  fresh.avoid.assign(avoid.begin(), avoid.end());
  groups_[unused] = fresh;
  fresh.claims = true;
  groups_[unused + 1] = std::move(fresh);
  return static_cast<std::uint32_t>(unused);
}

bool Philly::is_own(const JobSpec& spec) const {
  return tenancy_ && tenancy_->within(spec.tenant, spec.gpus);
}

void Philly::join(Ticket& ticket, Instant now) {
  Group& group = groups_[ticket.group];
  ++group.waiting;
  group.clock.join(ticket.waited, now);
}

void Philly::leave(Ticket& ticket, Instant now) {
  Group& group = groups_[ticket.group];
  --group.waiting;
  group.clock.leave(ticket.waited, now);
}

void Philly::enqueue(const View& view, JobId job) {
  if (tickets_.size() < view.job_count()) tickets_.resize(view.job_count());
  const JobSpec& spec = view.spec(job);
  Ticket& ticket = tickets_[job];
  MUSTER_CHECK(!ticket.waits);
  const bool first = ticket.turn == 0;
  const WaitSplit waited = ticket.waited;
  const std::uint32_t turn = ticket.turn + 1;
  ticket = Ticket{};
  ticket.waits = true;
  ticket.turn = turn;
  ticket.waited = waited;
  ticket.group = group_of(spec, view.avoided(job));
  ++groups_[ticket.group].tickets;
  if (first) ticket.waited.over_part_on_arrival = tenancy_ && !is_own(spec);
  join(ticket, view.now());
  groups_[ticket.group].queued.insert(job);
  queued_since_plan_ = true;
  if (!first) look_at_all_ = true;  // It released resources.
  if (tenancy_) tenancy_->want(spec.tenant, spec.gpus);
}

void Philly::charge(const JobSpec& spec, std::int32_t sign) {
  if (tenancy_) tenancy_->charge(spec.tenant, spec.user, sign * spec.gpus);
}

// Releases the nodes that the job asked for, and its claim to GPUs.
void Philly::stop_asking(const View& view, JobId job) {
  const JobSpec& spec = view.spec(job);
  Ticket& ticket = tickets_[job];
  for (const NodeId node : ticket.asked) std::erase(asked_of_[node], job);
  ticket.asked.clear();
  std::erase(asking_, job);
  if (ticket.own) {
    leave(ticket, view.now());
    --ticket.group;
    join(ticket, view.now());
    charge(spec, -1);
  } else {
    asking_gpus_ -= spec.gpus;
  }
}

void Philly::forget(const View& view, JobId job, JobExit /*job_exit*/) {
  const JobSpec& spec = view.spec(job);
  if (view.is_placed(job)) {
    for (const Share& share : view.placement(job)) freed_.push_back(share.node);
    charge(spec, -1);
  }
  Ticket& ticket = tickets_[job];
  if (!ticket.waits) return;
  ticket.waits = false;
  ++ticket.turn;
  if (ticket.phase == Phase::kAsking) stop_asking(view, job);
  if (ticket.phase == Phase::kQueued) groups_[ticket.group].queued.erase(job);
  --groups_[ticket.group].tickets;  // stop_asking() has returned it to this group.
  if (ticket.phase == Phase::kBackingOff) {
    ticket.waited[WaitCause::kBackoff] += view.now() - ticket.backing_off_since;
  } else {
    leave(ticket, view.now());
  }
  if (tenancy_) tenancy_->want(spec.tenant, -spec.gpus);
}

void Philly::begin_turns(const View& view) {
  if (!tenancy_) return;
  tenancy_->begin();
  for (const JobId job : view.placed()) charge(view.spec(job), 1);
  for (const JobId job : asking_) {
    if (tickets_[job].own) charge(view.spec(job), 1);
  }
  tenancy_->share_out();
}

// Collects jobs whose timer is due or whose nodes have changed, in order of their turn.
void Philly::gather(const View& view) {
  turn_.clear();
  while (!timers_.empty() && timers_.front().at <= view.now()) {
    std::pop_heap(timers_.begin(), timers_.end(), std::greater<>());
    const Timer due = timers_.back();
    timers_.pop_back();
    const Ticket& ticket = tickets_[due.job];
    if (ticket.waits && ticket.turn == due.turn) turn_.push_back(due.job);
  }
  for (const NodeId node : freed_) {
    turn_.insert(turn_.end(), asked_of_[node].begin(), asked_of_[node].end());
  }
  freed_.clear();
  if (std::exchange(look_at_all_, false)) turn_.insert(turn_.end(), asking_.begin(), asking_.end());
  std::sort(turn_.begin(), turn_.end());
  turn_.erase(std::unique(turn_.begin(), turn_.end()), turn_.end());
  if (!tenancy_) return;
  std::stable_sort(turn_.begin(), turn_.end(), [&](JobId a, JobId b) {
    if (tickets_[a].own != tickets_[b].own) return tickets_[a].own;
    const JobSpec& left = view.spec(a);
    const JobSpec& right = view.spec(b);
    return tenancy_->compare_turns(left.tenant, left.user, right.tenant, right.user) < 0;
  });
}

void Philly::set_phase(JobId job, Phase phase, Instant until) {
  Ticket& ticket = tickets_[job];
  ticket.phase = phase;
  ticket.until = until;
  timers_.push_back({until, job, ++ticket.turn});
  std::push_heap(timers_.begin(), timers_.end(), std::greater<>());
}

bool Philly::start(const View& view, Draft& draft, JobId job, Placement placement) {
  if (!draft.start(job, std::move(placement))) return false;
  note_start(view, job);
  return true;
}

bool Philly::resume(const View& view, Draft& draft, JobId job, Placement placement) {
  if (!start(view, draft, job, std::move(placement))) return false;
  groups_[tickets_[job].group].queued.erase(job);
  return true;
}

void Philly::note_start(const View& view, JobId job) {
  const JobSpec& spec = view.spec(job);
  Ticket& ticket = tickets_[job];
  ticket.waits = false;
  ++ticket.turn;
  leave(ticket, view.now());
  --groups_[ticket.group].tickets;
  charge(spec, 1);
  if (tenancy_) tenancy_->want(spec.tenant, -spec.gpus);
}

// Searches once at the job's level. Reclaims lent GPUs if the job is entitled to them.
bool Philly::look(const View& view, Draft& draft, JobId job) {
  Placement place;
  const Demand demand = demand_of(view, job);
  if (place_locally(*cluster_, draft.ledger(), demand, tickets_[job].level, place) &&
      start(view, draft, job, std::move(place))) {
    return true;
  }
  return tickets_[job].own && reclaim(view, draft, job);
}

// Handles a job whose nodes have changed or whose timer is due.
void Philly::attend(const View& view, Draft& draft, JobId job) {
  Ticket& ticket = tickets_[job];
  const JobSpec& spec = view.spec(job);
  const Instant now = view.now();
  if (ticket.phase == Phase::kBackingOff) {
    ticket.waited[WaitCause::kBackoff] += now - ticket.backing_off_since;
    ticket.phase = Phase::kQueued;
    join(ticket, now);
    groups_[ticket.group].queued.insert(job);
    return;
  }
  if (ticket.until > now) {
    Placement place;
    if (!place_on(*cluster_, draft.ledger(), demand_of(view, job), ticket.asked, place)) return;
    stop_asking(view, job);
    MUSTER_CHECK(start(view, draft, job, std::move(place)));
    return;
  }
  stop_asking(view, job);
  // If there are not enough GPUs at all, locality is not the reason.
  if (!is_own(spec) && (draft.ledger().free_gpus(spec.gpu_type) < spec.gpus ||
                        draft.ledger().free_gpus() - asking_gpus_ < spec.gpus)) {
    ticket.phase = Phase::kQueued;
    groups_[ticket.group].queued.insert(job);
    return;
  }
  ticket.own = is_own(spec);
  ++ticket.tries;
  const bool relax = options_.relax_after > 0 && ticket.tries % options_.relax_after == 0;
  if (relax && ticket.level != Locality::kAnywhere) {
    ticket.level = static_cast<Locality>(static_cast<int>(ticket.level) + 1);
  }
  if (look(view, draft, job)) return;
  leave(ticket, now);
  ticket.backing_off_since = now;
  set_phase(job, Phase::kBackingOff, now + options_.back_off);
}

bool Philly::may_ask(const Group& group, const ResourceLedger& ledger) const {
  if (group.out || group.queued.empty()) return false;
  if (group.gpus <= ledger.free_gpus(group.gpu_type)) return true;
  return tenancy_ && tenancy_->within(group.tenant, group.gpus);
}

// Returns the group of the oldest job of the next tenant; entitled jobs come first.
Philly::Group* Philly::next_to_admit(const ResourceLedger& ledger) {
  Group* best = nullptr;
  Turn first;
  for (Group& group : groups_) {
    if (!may_ask(group, ledger)) continue;
    const bool own = tenancy_ && tenancy_->within(group.tenant, group.gpus);
    const Turn turn{own, group.tenant, *group.queued.begin()};
    if (best != nullptr && !is_sooner(tenancy_, turn, first)) continue;
    best = &group;
    first = turn;
  }
  return best;
}

// Starts the oldest job of the group if its gang fits. Otherwise it asks for the nodes closest to
// fitting it, unless other asking jobs claim all idle GPUs.
void Philly::admit(const View& view, Draft& draft, Group& group) {
  const JobId job = *group.queued.begin();
  const JobSpec& spec = view.spec(job);
  Ticket& ticket = tickets_[job];
  ticket.own = is_own(spec);
  if (look(view, draft, job)) {
    group.queued.erase(job);
    return;
  }
  group.out = true;  // The other jobs of the group would fail too.
  if (!ticket.own && draft.ledger().free_gpus() - asking_gpus_ < spec.gpus) return;
  group.queued.erase(job);
  if (ticket.own) {
    leave(ticket, view.now());
    ++ticket.group;
    join(ticket, view.now());
    charge(spec, 1);
  } else {
    asking_gpus_ += spec.gpus;
  }
  asking_.push_back(job);
  ticket.asked = nodes_to_ask(*cluster_, draft.ledger(), demand_of(view, job), ticket.level);
  for (const NodeId node : ticket.asked) asked_of_[node].push_back(job);
  set_phase(job, Phase::kAsking, view.now() + options_.acquire);
}

// Stops borrowing gangs, youngest first, until the job fits at its level; gangs that do not block
// it stay. No tenant loses more than it has borrowed, apart from the excess of the last gang.
bool Philly::reclaim(const View& view, Draft& draft, JobId job) {
  if (!tenancy_ || !tenancy_->may_reclaim(view.ledger().free_gpus())) return false;
  std::vector<std::tuple<Instant, JobId>> youngest;
  for (const JobId other : view.placed()) {
    const bool safe = view.held_since(other) + options_.min_run > view.now();
    if (safe || draft.placement(other) == nullptr) continue;
    if (tenancy_->within(view.spec(other).tenant, 0)) continue;
    youngest.emplace_back(view.held_since(other), other);
  }
  std::sort(youngest.begin(), youngest.end(), std::greater<>());
  const Draft::Mark mark = draft.mark();
  std::vector<std::pair<JobId, Placement>> evicted;
  const Demand demand = demand_of(view, job);
  Placement place;
  for (const auto& [since, other] : youngest) {
    evicted.emplace_back(other, *draft.placement(other));
    draft.stop(other);
    charge(view.spec(other), -1);
    if (!place_locally(*cluster_, draft.ledger(), demand, tickets_[job].level, place)) continue;
    const Draft::Mark trial = draft.mark();
    MUSTER_CHECK(draft.start(job, place));
    std::vector<std::pair<JobId, Placement>> victims;
    for (auto each = evicted.rbegin(); each != evicted.rend(); ++each) {  // Oldest first.
      if (draft.start(each->first, each->second)) {
        charge(view.spec(each->first), 1);
      } else {
        victims.push_back(*each);
      }
    }
    const bool owed = std::all_of(victims.begin(), victims.end(), [&](const auto& victim) {
      const JobSpec& theirs = view.spec(victim.first);
      return !tenancy_->within(theirs.tenant, theirs.gpus);
    });
    if (owed) {
      note_start(view, job);
      for (const auto& [victim, held] : victims) {
        for (const Share& share : held) freed_.push_back(share.node);
      }
      return true;
    }
    draft.rollback(trial);
    for (const auto& [each, held] : evicted) {
      const auto is = [id = each](const auto& victim) { return victim.first == id; };
      if (std::none_of(victims.begin(), victims.end(), is)) charge(view.spec(each), -1);
    }
  }
  draft.rollback(mark);
  for (const auto& [other, held] : evicted) charge(view.spec(other), 1);
  return false;
}

void Philly::plan(const View& view, Draft& draft, PlanTrigger /*trigger*/) {
  last_plan_ = view.now();
  queued_since_plan_ = false;
  begin_turns(view);
  gather(view);
  for (const JobId job : turn_) attend(view, draft, job);
  for (Group& group : groups_) group.out = false;
  while (Group* group = next_to_admit(draft.ledger())) admit(view, draft, *group);
  note_causes(view, draft);
}

void Philly::note_causes(const View& view, const Draft& draft) {
  for (Group& group : groups_) {
    if (group.waiting == 0) continue;
    const bool own = !tenancy_ || group.claims || tenancy_->within(group.tenant, group.gpus);
    const std::int32_t free = draft.ledger().free_gpus(group.gpu_type);
    group.clock.set(cause_of_waiting(own, group.gpus, free), view.now());
  }
}

Instant Philly::review_at() const {
  // Jobs stopped by the plan queue again, and other jobs may need the nodes: plan again in a
  // second.
  const bool again = queued_since_plan_ || !freed_.empty();
  const Instant soon = again ? last_plan_ + Duration::seconds(1) : Instant::never();
  return timers_.empty() ? soon : std::min(soon, timers_.front().at);
}

WaitSplit Philly::waited(JobId job, Instant now) const {
  if (!tickets_.contains(job)) return {};
  const Ticket& ticket = tickets_[job];
  WaitSplit split = ticket.waited;
  if (!ticket.waits) return split;
  if (ticket.phase == Phase::kBackingOff) {
    split[WaitCause::kBackoff] += now - ticket.backing_off_since;
    return split;
  }
  split += groups_[ticket.group].clock.at(now);
  return split;
}

}  // namespace muster
