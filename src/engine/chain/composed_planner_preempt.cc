// Plans with preemption: selects the jobs that should run and the jobs to stop for them.

#include "engine/chain/composed_planner.h"

#include <algorithm>
#include <utility>

namespace muster {

void ComposedPlanner::add_running(const View& view, JobId job) {
  running_.add(job, rank_of(view, job), view.now());
}

// The stored rank of a running job may now be better than its current rank, which
// ranks_only_improve() rules out. So the job is ranked again, as if it had just started.
void ComposedPlanner::revised(const View& view, JobId job) {
  if (seats_[job].taken) return reseat(view, job);
  if (running_.drop(job)) add_running(view, job);
  if (traits_.when_stuck == PolicyTraits::BlockedHeadRule::kReserve) {
    estimated_end_[job] = view.now() + view.facts(job).remaining();
  }
}

bool ComposedPlanner::ranks_only_improve() const {
  return !traits_.drifts && !traits_.remembers && !traits_.worsens;
}

// A quick check before the full selection, which costs O(running jobs). If ranks only improve, the
// stored rank of a running job is never better than its current rank. So only the last running jobs
// need a new rank. If no first job of a demand class could get enough GPUs from the jobs behind it,
// no job can.
bool ComposedPlanner::no_job_can_gain(const View& view, const Draft& draft) {
  if (!ranks_only_improve() || tenancy_) return false;
  const Instant now = view.now();
  for (DemandClass& demand_class : classes_) {
    if (demand_class.queue.empty()) continue;
    demand_class.queue.advance(now);
    const Rank& first = demand_class.queue.first().rank;
    std::int32_t within_reach = draft.ledger().free_gpus();
    std::int32_t later = 0;  // GPUs of protected jobs.
    Instant grown = Instant::never();
    std::size_t left = running_.size();
    while (within_reach < demand_class.gpus && left > 0) {
      RankedJob& last = running_[left - 1];
      if (compare(last.rank, first, now) <= 0) break;
      if (!running_.is_ranked(last.job, now) || traits_.remembers) {
        running_.note_ranked(last.job, now);
        const Rank fresh = rank_of(view, last.job);
        if (compare(fresh, last.rank, now) != 0) {
          last.rank = fresh;
          running_.sift_forward(left - 1, now);
          continue;
        }
      }
      if (is_protected(view, last.job)) {
        later += view.spec(last.job).gpus;
        grown = std::min(grown, safe_until(view, last.job));
      } else {
        within_reach += view.spec(last.job).gpus;
      }
      --left;
    }
    if (within_reach >= demand_class.gpus) return false;
    if (within_reach + later >= demand_class.gpus) review_young(grown);
  }
  return true;
}

// Sorts the running jobs and returns the index of the first that a waiting job may displace. If
// ranks only improve, jobs that ranked before every waiting job still do.
std::size_t ComposedPlanner::rank_running(const View& view) {
  const Instant now = view.now();
  std::size_t begin = 0;
  if (ranks_only_improve() && !tenancy_) {
    const Rank* best = nullptr;
    for (DemandClass& demand_class : classes_) {
      demand_class.queue.advance(now);
      if (demand_class.queue.empty()) continue;
      const Rank& rank = demand_class.queue.first().rank;
      if (best == nullptr || compare(rank, *best, now) < 0) best = &rank;
    }
    if (best == nullptr) return running_.size();
    const auto behind = std::partition_point(
        running_.begin(), running_.end(),
        [&](const RankedJob& entry) { return compare(entry.rank, *best, now) <= 0; });
    begin = static_cast<std::size_t>(behind - running_.begin());
  }
  // The list is nearly sorted, so this insertion sort is linear.
  for (std::size_t i = begin; i < running_.size(); ++i) {
    if (!running_.is_ranked(running_[i].job, now) || traits_.remembers) {
      running_.note_ranked(running_[i].job, now);
      running_[i].rank = rank_of(view, running_[i].job);
    }
    running_.sift_forward(i, now);
  }
  return begin;
}

// Adaptive mechanisms find places after the selection. So a job that avoids nodes gets only free
// GPUs of other nodes and preempts no job: the GPUs it was selected for might be on avoided nodes.
bool ComposedPlanner::sits_out(const View& view, const DemandClass& demand_class) const {
  if (!adaptive_ || demand_class.avoid.empty()) return false;
  std::int32_t free = view.ledger().free_gpus();
  for (const NodeId node : demand_class.avoid) free -= view.ledger().free_gpus(node);
  return demand_class.gpus > free;
}

void ComposedPlanner::select_by_count(const View& view, std::size_t next) {
  const Instant now = view.now();
  for (DemandClass& demand_class : classes_) {
    demand_class.queue.advance(now);
    demand_class.walk.begin(demand_class.queue, now);
    demand_class.out = sits_out(view, demand_class);
  }
  const std::int32_t free = budget_;
  // GPUs that a job frees on an unschedulable node are not available to any other job. With several
  // GPU types, a selected job may not be able to use the GPUs of a protected job.
  const bool mixed = cluster_->topology().gpu_type_count() > 1;
  const auto is_stuck = [&](JobId job) {
    return view.is_placed(job) && (mixed ? is_protected(view, job) : view.is_on_closed(job));
  };
  for (std::size_t i = next; i < running_.size(); ++i) {
    if (!is_stuck(running_[i].job)) budget_ += view.spec(running_[i].job).gpus;
  }
  young_.clear();
  for (std::size_t i = next; mixed && i < running_.size(); ++i) {
    if (is_stuck(running_[i].job)) young_.push_back(i);
  }
  DemandClass* best = nullptr;
  while (true) {
    if (best == nullptr || best->walk.done() || best->gpus > budget_) {
      best = nullptr;
      for (DemandClass& demand_class : classes_) {
        if (demand_class.out || demand_class.walk.done() || demand_class.gpus > budget_) continue;
        if (best != nullptr && !goes_before(demand_class.walk.entry(), best->walk.entry(), now))
          continue;
        best = &demand_class;
      }
    }
    const bool more_running = next < running_.size();
    if (best == nullptr && !more_running) {
      return mixed ? await_growth(view) : defer_for_young(view, free);
    }
    if (more_running && is_stuck(running_[next].job)) {
      ++next;
      continue;
    }
    // On a tie the running job stays, because a swap would gain nothing.
    if (best == nullptr ||
        (more_running && compare(running_[next].rank, best->walk.entry().rank, now) <= 0)) {
      const JobId job = running_[next++].job;
      const std::int32_t gpus = view.spec(job).gpus;
      if (gpus <= budget_) {
        budget_ -= gpus;
      } else if (is_protected(view, job)) {
        young_.push_back(next - 1);
      } else {
        stops_.push_back(job);
      }
    } else {
      selected_.push_back(best->walk.entry().job);
      budget_ -= best->gpus;
      best->walk.next();
      best = nullptr;
    }
  }
}

// The selection has counted on the GPUs of young_, which are protected. So the last selected jobs
// wait until the protection ends. If other running jobs stopped instead, they would displace the
// protected jobs as soon as they could: two preemptions instead of one.
void ComposedPlanner::defer_for_young(const View& view, std::int32_t free) {
  if (young_.empty()) return;
  for (const JobId job : stops_) free += view.spec(job).gpus;
  std::erase_if(selected_, [&](JobId job) {
    const std::int32_t gpus = view.spec(job).gpus;
    if (gpus > free) return true;
    free -= gpus;
    return false;
  });
  budget_ = free;
  for (const std::size_t i : young_) review_young(safe_until(view, running_[i].job));
}

void ComposedPlanner::preempt(const View& view, Draft& draft) {
  if (view.waiting_count() == 0) return;
  if (waiting_gpus_ <= free_gpus(draft)) {  // All jobs fit, at least by count.
    fill(view, draft);
    if (waiting_gpus_ == 0) return;
  } else if (no_job_can_gain(view, draft)) {
    return;
  }
  const std::int32_t free = budget_ = free_gpus(draft);
  const std::size_t next = rank_running(view);
  if (tenancy_) {
    select_by_count_and_tenant(view, free);
  } else {
    select_by_count(view, next);
  }
  for (const JobId job : stops_) draft.stop(job);
  if (tenancy_) charge_all(view, draft);
  // By count all selected jobs fit, in any order.
  if (adaptive_) budget_ = cluster_->topology().total().gpus;
  bool all_placed = true;
  for (const JobId job : selected_) {
    if (take(view, draft, job)) continue;
    if (!make_room(view, draft, job, rank_of(view, job))) all_placed = false;
  }
  if (all_placed) return;
  // If a selected job found no place, the jobs to be stopped keep their GPUs. Otherwise other jobs
  // of any rank would take these GPUs and lose them again at the next plan.
  for (const JobId job : stops_) draft.start(job, view.placement(job));
  if (tenancy_) charge_all(view, draft);
  fill(view, draft);
}

Instant ComposedPlanner::safe_until(const View& view, JobId job) const {
  // GPUs that a job frees on an unschedulable node are not available to any other job.
  if (view.is_on_closed(job)) return Instant::never();
  return view.held_since(job) + options_.min_run;
}

bool ComposedPlanner::is_protected(const View& view, JobId job) const {
  return view.is_placed(job) && (options_.min_run > Duration() || view.is_on_closed(job)) &&
         safe_until(view, job) > view.now();
}

void ComposedPlanner::review_young(Instant when) { young_until_ = std::min(young_until_, when); }

// Called after the selection. If a job that was not selected could replace protected jobs, plan
// again when the first protection ends.
void ComposedPlanner::await_growth(const View& view) {
  if (young_.empty()) return;
  for (const DemandClass& demand_class : classes_) {
    if (demand_class.walk.done()) continue;
    std::int32_t later = 0;
    Instant grown = Instant::never();
    for (const std::size_t i : young_) {
      const RankedJob& entry = running_[i];
      if (!tenancy_ && compare(demand_class.walk.entry().rank, entry.rank, view.now()) >= 0)
        continue;
      later += view.spec(entry.job).gpus;
      grown = std::min(grown, safe_until(view, entry.job));
    }
    if (later > 0 && budget_ + later >= demand_class.gpus) review_young(grown);
  }
}

// A job may displace jobs that rank behind it. With tenants, only those of its own tenant, or among
// borrowers. A job within its entitlement may also displace borrowers.
bool ComposedPlanner::may_displace(const View& view, JobId job, const Rank& rank,
                                   const RankedJob& other) const {
  const bool behind = compare(rank, other.rank, view.now()) < 0;
  if (!tenancy_) return behind;
  const TenantId mine = view.spec(job).tenant;
  const TenantId theirs = view.spec(other.job).tenant;
  if (tenancy_->outranks(mine, borrowed_[job], theirs, borrowed_[other.job])) {
    return may_reclaim_ || behind;
  }
  if (tenancy_->outranks(theirs, borrowed_[other.job], mine, borrowed_[job])) return false;
  return behind && (borrowed_[job] != 0 || mine == theirs);
}

// Stops the jobs in `displaced`, in order, and starts `job` on the free resources. A job that
// requests more than GPUs may lack only CPU or memory. For such a job, stops only as many jobs as
// needed, the last in order first, and reduces `displaced` to these.
bool ComposedPlanner::displace(const View& view, Draft& draft, JobId job,
                               std::vector<std::pair<JobId, Placement>>& displaced) {
  if (!view.spec(job).is_particular()) {
    for (const auto& [other, held] : displaced) draft.stop(other);
    return take(view, draft, job);
  }
  for (std::size_t left = displaced.size(); left-- > 0;) {
    draft.stop(displaced[left].first);
    if (!take(view, draft, job)) continue;
    displaced.erase(displaced.begin(), displaced.begin() + static_cast<std::ptrdiff_t>(left));
    return true;
  }
  return false;
}

// Enough GPUs are free for this job, but it cannot use them where they are. Displaces jobs that
// rank behind it, on the nodes that the placement chooses. The other jobs get their GPUs back, or
// another place.
bool ComposedPlanner::make_room(const View& view, Draft& draft, JobId job, const Rank& rank) {
  const Draft::Mark mark = draft.mark();
  std::vector<std::pair<JobId, Placement>> displaced;
  Instant grown = Instant::never();
  for (const RankedJob& entry : running_) {
    if (!view.is_placed(entry.job) || !may_displace(view, job, rank, entry)) continue;
    if (is_protected(view, entry.job)) {
      grown = std::min(grown, safe_until(view, entry.job));
      continue;
    }
    const Placement* held = draft.placement(entry.job);
    if (held == nullptr) continue;
    displaced.emplace_back(entry.job, *held);
  }
  if (!displace(view, draft, job, displaced)) {
    draft.rollback(mark);
    review_young(grown);
    return false;
  }
  if (adaptive_) {
    keep_displaced(view, draft, displaced);
    return true;
  }
  // All jobs that can keep their place do, before any other job looks for a new place.
  for (const auto& [other, held] : displaced) draft.start(other, held);
  for (const auto& [other, held] : displaced) {
    if (draft.placement(other) != nullptr) continue;
    Ask ask = ask_for(view, other);
    mechanism_->place(*cluster_, *placer_, draft.ledger(), ask);
    if (!ask.given.empty() && draft.start(other, std::move(ask.given))) continue;
    if (tenancy_) tenancy_->refund(*ask.spec);
  }
  return true;
}

}  // namespace muster
