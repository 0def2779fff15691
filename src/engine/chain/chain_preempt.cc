// Chain with preemption: who should run, and whose GPUs that takes.

#include "engine/chain/chain.h"

#include <algorithm>
#include <utility>

namespace muster {

void Chain::add_running(const View& view, JobId job) {
  running_.add(job, rank_of(view, job), view.now());
}

// What was known of a running job may now be better than the truth, which must not be: see
// ranks_only_improve(). So it gets its place anew, as if it had just begun.
void Chain::revised(const View& view, JobId job) {
  if (seats_[job].taken) return reseat(view, job);
  if (running_.drop(job)) add_running(view, job);
  if (traits_.when_stuck == PolicyTraits::WhenStuck::kReserve) {
    believed_end_[job] = view.now() + view.facts(job).remaining();
  }
}

bool Chain::ranks_only_improve() const {
  return !traits_.drifts && !traits_.remembers && !(options_.stable_ties && traits_.improves);
}

// A quick look before the thorough one, which costs as much as there are running jobs. Where ranks
// only improve with running, what was known of a running job is no better than the truth, so only
// those at the very end need to be looked at again: if no first of a shape could be given enough
// GPUs of jobs behind it, nobody can.
bool Chain::nobody_can_gain(const View& view, const Draft& draft) {
  if (!ranks_only_improve() || tenancy_) return false;
  const Instant now = view.now();
  for (Shape& shape : shapes_) {
    if (shape.queue.empty()) continue;
    shape.queue.advance(now);
    const Rank& first = shape.queue.first().rank;
    std::int32_t within_reach = draft.books().free_gpus();
    std::int32_t later = 0;  // Of jobs that are safe for the time being.
    Instant grown = Instant::never();
    std::size_t left = running_.size();
    while (within_reach < shape.gpus && left > 0) {
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
    if (within_reach >= shape.gpus) return false;
    if (within_reach + later >= shape.gpus) review_young(grown);
  }
  return true;
}

// Brings the running jobs into order and returns where those begin that a waiting job may displace.
// Whoever was known to rank before every waiting job still does if ranks only improve.
std::size_t Chain::rank_running(const View& view) {
  const Instant now = view.now();
  std::size_t begin = 0;
  if (ranks_only_improve() && !tenancy_) {
    const Rank* best = nullptr;
    for (Shape& shape : shapes_) {
      shape.queue.advance(now);
      if (shape.queue.empty()) continue;
      const Rank& rank = shape.queue.first().rank;
      if (best == nullptr || compare(rank, *best, now) < 0) best = &rank;
    }
    if (best == nullptr) return running_.size();
    const auto behind = std::partition_point(
        running_.begin(), running_.end(),
        [&](const RankedJob& entry) { return compare(entry.rank, *best, now) <= 0; });
    begin = static_cast<std::size_t>(behind - running_.begin());
  }
  // Nearly in order already: insertion sort is linear then.
  for (std::size_t i = begin; i < running_.size(); ++i) {
    if (!running_.is_ranked(running_[i].job, now) || traits_.remembers) {
      running_.note_ranked(running_[i].job, now);
      running_[i].rank = rank_of(view, running_[i].job);
    }
    running_.sift_forward(i, now);
  }
  return begin;
}

// Where places are found only after the selection, one that avoids servers gets what is free on
// others and makes nobody give way: what it was selected for might be where it does not want it.
bool Chain::sits_out(const View& view, const Shape& shape) const {
  if (!adaptive_ || shape.avoid.empty()) return false;
  std::int32_t free = view.books().free_gpus();
  for (const NodeId node : shape.avoid) free -= view.books().free_gpus(node);
  return shape.gpus > free;
}

void Chain::select_by_count(const View& view, std::size_t next) {
  const Instant now = view.now();
  for (Shape& shape : shapes_) {
    shape.queue.advance(now);
    shape.walk.begin(shape.queue, now);
    shape.out = sits_out(view, shape);
  }
  young_.clear();
  for (std::size_t i = next; i < running_.size(); ++i) {
    if (is_protected(view, running_[i].job)) {
      young_.push_back(i);
    } else {
      budget_ += view.spec(running_[i].job).gpus;
    }
  }
  std::size_t next_young = 0;
  Shape* best = nullptr;
  while (true) {
    if (best == nullptr || best->walk.done() || best->gpus > budget_) {
      best = nullptr;
      for (Shape& shape : shapes_) {
        if (shape.out || shape.walk.done() || shape.gpus > budget_) continue;
        if (best != nullptr && !goes_before(shape.walk.entry(), best->walk.entry(), now)) continue;
        best = &shape;
      }
    }
    const bool more_running = next < running_.size();
    if (best == nullptr && !more_running) return await_growth(view);
    if (next_young < young_.size() && young_[next_young] == next) {  // Stays, whatever its rank.
      ++next_young;
      ++next;
      continue;
    }
    // On a tie the running job stays: a swap would gain nothing.
    if (best == nullptr ||
        (more_running && compare(running_[next].rank, best->walk.entry().rank, now) <= 0)) {
      const JobId job = running_[next++].job;
      const std::int32_t gpus = view.spec(job).gpus;
      if (gpus <= budget_) {
        budget_ -= gpus;
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

void Chain::preempt(const View& view, Draft& draft) {
  if (view.waiting_count() == 0) return;
  if (waiting_gpus_ <= free_gpus(draft)) {  // Everybody fits, at least by count.
    fill(view, draft);
    if (waiting_gpus_ == 0) return;
  } else if (nobody_can_gain(view, draft)) {
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
  // By count they all fit together, whatever order the budget is spent in from here on.
  if (adaptive_) budget_ = cluster_->topology().total().gpus;
  bool all_placed = true;
  for (const JobId job : selected_) {
    if (take(view, draft, job)) continue;
    if (!make_room(view, draft, job, rank_of(view, job))) all_placed = false;
  }
  if (all_placed) return;
  // Those who were to stop for a job that found no place stay. Otherwise others would take their
  // GPUs, whatever their rank, and lose them again at the next plan.
  for (const JobId job : stops_) draft.start(job, view.placement(job));
  if (tenancy_) charge_all(view, draft);
  fill(view, draft);
}

Instant Chain::safe_until(const View& view, JobId job) const {
  // What one leaves on a closed server is for nobody to have.
  if (view.is_on_closed(job)) return Instant::never();
  return view.held_since(job) + options_.min_run;
}

bool Chain::is_protected(const View& view, JobId job) const {
  return view.is_placed(job) && (options_.min_run > Duration() || view.is_on_closed(job)) &&
         safe_until(view, job) > view.now();
}

void Chain::review_young(Instant when) { young_until_ = std::min(young_until_, when); }

// After the selection: if somebody left out could take the place of jobs that are safe for the time
// being, plan again when the first of those no longer is.
void Chain::await_growth(const View& view) {
  if (young_.empty()) return;
  for (const Shape& shape : shapes_) {
    if (shape.walk.done()) continue;
    std::int32_t later = 0;
    Instant grown = Instant::never();
    for (const std::size_t i : young_) {
      const RankedJob& entry = running_[i];
      if (!tenancy_ && compare(shape.walk.entry().rank, entry.rank, view.now()) >= 0) continue;
      later += view.spec(entry.job).gpus;
      grown = std::min(grown, safe_until(view, entry.job));
    }
    if (later > 0 && budget_ + later >= shape.gpus) review_young(grown);
  }
}

// Whoever ranks behind; with tenants only inside one, or among those that borrow, except that who
// borrows gives way to who does not.
bool Chain::may_displace(const View& view, JobId job, const Rank& rank,
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

// Stops these, the first in order first, and starts the job on what is free then. One that asks for
// more than GPUs may lack only what is beside them: then no more are stopped than it takes, the
// last in order first, and `displaced` keeps those.
bool Chain::displace(const View& view, Draft& draft, JobId job,
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

// The GPUs for this job are there but not where it can use them. Takes them from whoever ranks
// behind it, wherever the placement wants; the others get their own back, or a place elsewhere.
bool Chain::make_room(const View& view, Draft& draft, JobId job, const Rank& rank) {
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
  // All who can stay do, before anybody who cannot looks for another place.
  for (const auto& [other, held] : displaced) draft.start(other, held);
  for (const auto& [other, held] : displaced) {
    if (draft.placement(other) != nullptr) continue;
    Ask ask = ask_for(view, other);
    mechanism_->place(*cluster_, *placer_, draft.books(), ask);
    if (!ask.given.empty() && draft.start(other, std::move(ask.given))) continue;
    if (tenancy_) tenancy_->refund(*ask.spec);
  }
  return true;
}

}  // namespace muster
