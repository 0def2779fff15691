// Plans without preemption: jobs start on free resources.

#include "engine/chain/composed_planner.h"

#include <algorithm>
#include <utility>

namespace muster {

using BlockedHeadRule = PolicyTraits::BlockedHeadRule;

namespace {

double alignment(const Cluster& cluster, const Mechanism& mechanism, const ResourceLedger& ledger,
                 const DemandClass& demand_class) {
  // The dot product of the request of a job and the free resources of a node, both relative to the
  // size of the node. Nodes with the same number of free GPUs count as alike.
  const Topology& topology = cluster.topology();
  const Profile& profile = cluster.profiles()[demand_class.profile];
  double best = 0;
  for (std::int32_t count = 1; count <= topology.largest_node_gpus(); ++count) {
    const NodeId node = ledger.next_with_exactly(count, NodeId(0));
    if (node == ledger.no_node()) continue;
    const Resources& capacity = ledger.pooled() ? topology.total() : topology.node(node).capacity;
    const std::int32_t free = ledger.pooled() ? ledger.free_gpus() : count;
    const auto gpus = static_cast<double>(std::min(demand_class.gpus, free));
    Resources each = mechanism.depends_on_profile() ? profile.ideal() : cluster.fair(node);
    if (!profile.memory_known()) each.mem_mib = cluster.fair(node).mem_mib;
    each = at_least(each, demand_class.least);
    const auto part = [&](std::int64_t asked, std::int64_t room, std::int64_t size) {
      if (size == 0) return 0.0;
      const auto whole = static_cast<double>(size);
      return gpus * static_cast<double>(asked) / whole * (static_cast<double>(room) / whole);
    };
    const ResourceLedger::Room& room = ledger.room(node);
    const double score = part(1, free, capacity.gpus) +
                         part(each.cpu_milli, room.cpu_milli, capacity.cpu_milli) +
                         part(each.mem_mib, room.mem_mib, capacity.mem_mib);
    best = std::max(best, score / 3.0);
  }
  return best;
}

}  // namespace

// EASY backfill: the head gets its GPUs at the earliest time at which the estimates predict enough
// of them. Other jobs may start now if they end by then, or if they use GPUs that the head will not
// need.
class ComposedPlanner::Backfill {
 public:
  Backfill(ComposedPlanner& chain, const View& view, Draft& draft, JobId head)
      : planner_(chain), view_(view), draft_(draft), head_(head), start_of_head_(view.now()) {}
  void run();

 private:
  struct Candidate {
    DemandClass* demand_class = nullptr;  // Null: no candidate.
    JobId job;
  };
  void reserve();
  Instant when_it_fits() const;
  Candidate oldest_that_fits(std::int32_t free, std::optional<JobId> last) const;
  void keep_for_head(std::int32_t free);

  ComposedPlanner& planner_;
  const View& view_;
  Draft& draft_;
  JobId head_;
  Instant start_of_head_;
  std::int32_t leftover_ = 0;  // GPUs that the head will not need when it starts.
};

// Keeps the new estimate of an overdue job until it, too, has passed: most plans then cost nothing
// per job.
Instant ComposedPlanner::expected_end(const View& view, JobId job) {
  Instant& end = estimated_end_[job];
  if (end <= view.now()) end = view.now() + view.expected_remaining(job);
  return end;
}

void ComposedPlanner::Backfill::reserve() {
  std::vector<std::pair<Instant, std::int32_t>>& ends = planner_.ends_;
  ends.clear();
  for (const JobId job : view_.placed()) {
    if (draft_.placement(job) != nullptr) {
      ends.emplace_back(planner_.expected_end(view_, job), view_.spec(job).gpus);
    }
  }
  for (const JobId job : planner_.starts_) {
    ends.emplace_back(planner_.estimated_end_[job], view_.spec(job).gpus);
  }
  const auto later = [](const auto& a, const auto& b) { return a > b; };
  std::make_heap(ends.begin(), ends.end(), later);
  std::int32_t then_free = planner_.free_gpus(draft_);
  // The head does not fit now, even if enough GPUs are free elsewhere, so a job must end first. All
  // jobs that end at that time count, because otherwise leftover_ would depend on their order.
  const std::int32_t wanted = view_.spec(head_).gpus;
  bool none_ended = true;
  while (!ends.empty() &&
         (none_ended || then_free < wanted || ends.front().first <= start_of_head_)) {
    std::pop_heap(ends.begin(), ends.end(), later);
    start_of_head_ = ends.back().first;
    then_free += ends.back().second;
    ends.pop_back();
    none_ended = false;
  }
  leftover_ = std::max(0, then_free - wanted);
  if (view_.spec(head_).is_particular()) {  // It also needs CPU, memory or few nodes.
    start_of_head_ = when_it_fits();
    leftover_ = 0;
  }
}

// Returns when the estimated ends of running jobs free enough for a head that requests more than
// GPUs.
Instant ComposedPlanner::Backfill::when_it_fits() const {
  std::vector<std::pair<Instant, JobId>> ends;
  for (const JobId job : view_.placed()) {
    if (draft_.placement(job) == nullptr) continue;
    ends.emplace_back(planner_.expected_end(view_, job), job);
  }
  for (const JobId job : planner_.starts_) {
    if (draft_.placement(job) != nullptr) ends.emplace_back(planner_.estimated_end_[job], job);
  }
  std::sort(ends.begin(), ends.end());
  ResourceLedger ledger = draft_.ledger();
  for (const auto& [end, job] : ends) {
    for (const Share& share : *draft_.placement(job)) ledger.give(share);
    Ask ask = planner_.ask_for(view_, head_);
    planner_.mechanism_->place(*planner_.cluster_, *planner_.placer_, ledger, ask);
    if (!ask.given.empty()) return end;
  }
  return Instant::never();
}

ComposedPlanner::Backfill::Candidate ComposedPlanner::Backfill::oldest_that_fits(
    std::int32_t free, std::optional<JobId> last) const {
  const Duration until_then = start_of_head_ - view_.now();
  Candidate found;
  for (DemandClass& demand_class : planner_.classes_) {
    if (demand_class.out || demand_class.gpus > free) continue;
    const Duration longest = demand_class.gpus <= leftover_ ? Duration::max() : until_then;
    const std::optional<JobId> job = demand_class.ages.oldest(longest, last);
    if (!job) continue;
    if (found.demand_class != nullptr) {
      const std::size_t far = planner_.tenancy_ ? planner_.distance(demand_class) : 0;
      const std::size_t found_far = planner_.tenancy_ ? planner_.distance(*found.demand_class) : 0;
      if (far != found_far ? found_far < far : found.job < *job) continue;
    }
    found = {&demand_class, *job};
  }
  return found;
}

// Any job may use the remaining free GPUs, for any time.
void ComposedPlanner::Backfill::keep_for_head(std::int32_t free) {
  const std::int32_t kept = std::min(view_.spec(head_).gpus, free - std::max(0, leftover_));
  if (kept > 0) planner_.kept_ = {head_, kept, start_of_head_};
}

void ComposedPlanner::Backfill::run() {
  reserve();
  planner_.classes_[planner_.seats_[head_].demand_class].out = true;
  std::optional<JobId> last = head_;
  while (true) {
    const std::int32_t free = planner_.free_gpus(draft_);
    if (free == 0) return;
    const auto [demand_class, oldest] = oldest_that_fits(free, last);
    if (demand_class == nullptr) return keep_for_head(free);
    last = oldest;
    if (!planner_.take(view_, draft_, oldest)) {
      demand_class->out = demand_class->no_place = true;
    } else if (planner_.estimated_end_[oldest] > start_of_head_) {
      leftover_ -= view_.spec(oldest).gpus;
    }
  }
}

// Compares the first jobs of two classes. Jobs within their entitlement come first, then near
// borrowers before far ones, then by turn, then by rank.
bool ComposedPlanner::served_before(const DemandClass& a, const DemandClass& b, Instant now) const {
  if (tenancy_) {
    const std::size_t distance_a = distance(a);
    const std::size_t distance_b = distance(b);
    if (distance_a != distance_b) return distance_a < distance_b;
    const int turn = tenancy_->compare_turns(a.tenant, a.user, b.tenant, b.user);
    if (turn != 0) return turn < 0;
  }
  return goes_before(a.queue.first(), b.queue.first(), now);
}

std::vector<JobId> ComposedPlanner::class_heads(Instant now) const {
  std::vector<JobId> jobs;
  const DemandClass* best = nullptr;
  for (const DemandClass& demand_class : classes_) {
    if (demand_class.queue.empty()) continue;
    jobs.push_back(demand_class.queue.first().job);
    if (best != nullptr && !served_before(demand_class, *best, now)) continue;
    best = &demand_class;
    std::swap(jobs.front(), jobs.back());
  }
  return jobs;
}

// The rule that no job overtakes applies within a tenant: only its first job may be next.
bool ComposedPlanner::is_passed_by(const DemandClass& demand_class, Instant now) const {
  return traits_.when_stuck == BlockedHeadRule::kWait &&
         std::any_of(classes_.begin(), classes_.end(), [&](const DemandClass& other) {
           return !other.queue.empty() && other.tenant == demand_class.tenant &&
                  !(other.out && !other.avoid.empty()) &&
                  goes_before(other.queue.first(), demand_class.queue.first(), now);
         });
}

DemandClass* ComposedPlanner::next_in_order(std::int32_t free, Instant now,
                                            std::optional<std::size_t> near) {
  const bool any_size = traits_.when_stuck == BlockedHeadRule::kWait ||
                        traits_.when_stuck == BlockedHeadRule::kReserve;
  DemandClass* best = nullptr;
  for (DemandClass& demand_class : classes_) {
    if (demand_class.out || demand_class.queue.empty() || (!any_size && demand_class.gpus > free))
      continue;
    if (tenancy_ && ((near && distance(demand_class) > *near) || is_passed_by(demand_class, now)))
      continue;
    if (best != nullptr && !served_before(demand_class, *best, now)) continue;
    best = &demand_class;
  }
  return best;
}

void ComposedPlanner::fill(const View& view, Draft& draft, std::optional<std::size_t> near) {
  for (DemandClass& demand_class : classes_) {
    demand_class.out = false;
    demand_class.queue.advance(view.now());
  }
  while (true) {
    const std::int32_t free = free_gpus(draft);
    if (free == 0) return;
    DemandClass* demand_class = traits_.when_stuck == BlockedHeadRule::kAlign
                                    ? best_aligned(view, draft, free, near)
                                    : next_in_order(free, view.now(), near);
    if (demand_class == nullptr) return;
    const JobId job = demand_class->queue.first().job;
    if (take(view, draft, job)) continue;
    demand_class->no_place = true;
    if (!demand_class->avoid.empty()) {  // It avoids nodes, so no other job must wait for it.
      demand_class->out = true;
      continue;
    }
    if (traits_.when_stuck == BlockedHeadRule::kWait) {
      if (!tenancy_) {
        const JobSpec& spec = view.spec(job);
        const std::int32_t of_its_type = draft.ledger().free_gpus(spec.gpu_type);
        kept_ = {job, std::min({spec.gpus, free, of_its_type}), Instant::never()};
        return;
      }
      for (DemandClass& other : classes_) other.out |= other.tenant == demand_class->tenant;
      continue;
    }
    if (traits_.when_stuck == BlockedHeadRule::kReserve) {
      if (near) return;
      return Backfill(*this, view, draft, job).run();
    }
    demand_class->out = true;
  }
}

// Tetris: how well the demand class fits the free resources, minus the remaining work of its first
// job. Both are on a scale from 0 to 1.
DemandClass* ComposedPlanner::best_aligned(const View& view, const Draft& draft, std::int32_t free,
                                           std::optional<std::size_t> near) {
  const double typical =
      estimate_sum_us_ / static_cast<double>(std::max<std::int64_t>(1, estimates_seen_));
  DemandClass* best = nullptr;
  double best_score = 0;
  for (DemandClass& demand_class : classes_) {
    if (demand_class.out || demand_class.queue.empty() || demand_class.gpus > free) continue;
    if (near && distance(demand_class) > *near) continue;
    const auto left =
        static_cast<double>(view.facts(demand_class.queue.first().job).remaining().us());
    const double score = alignment(*cluster_, *mechanism_, draft.ledger(), demand_class) -
                         left / (left + typical + 1.0);
    if (best != nullptr && tenancy_ && distance(demand_class) != distance(*best)) {
      if (distance(*best) < distance(demand_class)) continue;
      best = nullptr;
    }
    if (best == nullptr || score > best_score ||
        (score == best_score && demand_class.queue.first().job < best->queue.first().job)) {
      best = &demand_class;
      best_score = score;
    }
  }
  return best;
}

}  // namespace muster
