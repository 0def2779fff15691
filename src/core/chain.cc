#include "core/chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/digest.h"

namespace muster {

using WhenStuck = PolicyTraits::WhenStuck;

Chain::Chain(const Cluster& cluster, std::unique_ptr<Policy> policy,
             std::unique_ptr<Mechanism> mechanism, std::unique_ptr<Placer> placer,
             const ChainOptions& options)
    : cluster_(&cluster),
      policy_(std::move(policy)),
      mechanism_(std::move(mechanism)),
      placer_(std::move(placer)),
      options_(options),
      traits_(policy_->traits()),
      adaptive_(mechanism_->adaptive()) {}

Pooling Chain::pooling() const {
  const bool whole = mechanism_->pooling() == Pooling::kWholeCluster ||
                     placer_->pooling() == Pooling::kWholeCluster;
  return whole ? Pooling::kWholeCluster : Pooling::kPerNode;
}

std::uint32_t Chain::shape_of(const JobSpec& spec) {
  const ProfileId profile = mechanism_->depends_on_profile() ? spec.profile : ProfileId();
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    const Shape& shape = shapes_[i];
    if (shape.gpus == spec.gpus && shape.gpu_type == spec.gpu_type && shape.profile == profile) {
      return static_cast<std::uint32_t>(i);
    }
  }
  Shape fresh;
  fresh.gpus = spec.gpus;
  fresh.gpu_type = spec.gpu_type;
  fresh.profile = profile;
  fresh.refusal = find_refusal(spec);
  shapes_.push_back(std::move(fresh));
  return static_cast<std::uint32_t>(shapes_.size() - 1);
}

std::optional<std::string> Chain::find_refusal(const JobSpec& spec) const {
  const Topology& topology = cluster_->topology();
  const std::int32_t there =
      spec.gpu_type ? topology.gpus_of_type(*spec.gpu_type) : topology.total().gpus;
  if (spec.gpus > there) {
    return fmt::format("needs {} GPUs{}, the cluster has {}", spec.gpus,
                       spec.gpu_type ? " of type " + topology.gpu_type_name(*spec.gpu_type) : "",
                       there);
  }
  Ask ask;
  ask.spec = &spec;
  mechanism_->place(*cluster_, *placer_, Books(topology, pooling()), ask);
  if (!ask.given.empty()) return std::nullopt;
  return fmt::format("{} GPUs cannot be placed even on the empty cluster", spec.gpus);
}

std::optional<std::string> Chain::refuse(const JobSpec& spec) {
  return shapes_[shape_of(spec)].refusal;
}

Rank Chain::rank_of(const View& view, JobId job) const {
  const JobFacts facts = view.facts(job);
  Rank rank = policy_->rank(facts);
  if (options_.stable_ties && traits_.improves) {
    // Who reached this rank first; of two that reached it now, the one that came more slowly, and
    // last one that has only just been submitted.
    const bool fresh = facts.gpu_us == 0 && !view.is_placed(job);
    rank.tie = facts.last_ran.us() * 1024 + (fresh ? 1023 : std::min(facts.gpus, 1022));
  }
  return rank;
}

void Chain::enqueue(const View& view, JobId job) {
  if (seats_.size() < view.job_count()) {
    seats_.resize(view.job_count());
    believed_end_.resize(view.job_count());
  }
  Seat& seat = seats_[job];
  MUSTER_CHECK(!seat.taken);
  const JobFacts facts = view.facts(job);
  seat.taken = true;
  seat.shape = shape_of(view.spec(job));
  seat.slot = shapes_[seat.shape].queue.insert(job, rank_of(view, job), view.now());
  if (traits_.when_stuck == WhenStuck::kReserve) {
    shapes_[seat.shape].ages.insert(job, facts.estimate);
  }
  ++estimates_seen_;
  estimate_sum_us_ += static_cast<double>(facts.estimate.us());
}

void Chain::unseat(JobId job, Instant now) {
  Seat& seat = seats_[job];
  MUSTER_CHECK(seat.taken);
  seat.taken = false;
  shapes_[seat.shape].queue.remove(seat.slot, now);
  if (traits_.when_stuck == WhenStuck::kReserve) shapes_[seat.shape].ages.remove(job);
}

void Chain::forget(const View& view, JobId job) {
  if (seats_[job].taken) unseat(job, view.now());
  set_changed_ = true;
}

Ask Chain::ask_for(const View& view, JobId job) const {
  Ask ask;
  ask.job = job;
  ask.spec = &view.spec(job);
  ask.salt = Digest::mix(options_.seed ^ Digest::mix(std::uint64_t{job.index()} << 32 ^
                                                     static_cast<std::uint64_t>(view.now().us())));
  return ask;
}

void Chain::plan(const View& view, Draft& draft, Occasion occasion) {
  starts_.clear();
  selected_.clear();
  stops_.clear();
  if (options_.rebuild) return rebuild(view, draft);
  const bool may_preempt = traits_.preempts && (!traits_.drifts || occasion == Occasion::kTick);
  budget_ = draft.books().free_gpus();
  if (may_preempt && !view.placed().empty()) {
    preempt(view, draft);
  } else {
    fill(view, draft);
  }
  if (adaptive_ && (set_changed_ || !starts_.empty() || !stops_.empty())) rebalance(view, draft);
}

std::int32_t Chain::free_gpus(const Draft& draft) const {
  return adaptive_ ? budget_ : draft.books().free_gpus();
}

// Gives one job its GPUs if it fits: a real place, or a part of the budget for adaptive mechanisms.
bool Chain::take(const View& view, Draft& draft, JobId job) {
  const std::int32_t gpus = view.spec(job).gpus;
  if (adaptive_) {
    if (gpus > budget_) return false;
    budget_ -= gpus;
  } else {
    Ask ask = ask_for(view, job);
    mechanism_->place(*cluster_, *placer_, draft.books(), ask);
    if (ask.given.empty() || !draft.start(job, std::move(ask.given))) return false;
  }
  starts_.push_back(job);
  unseat(job, view.now());
  if (traits_.preempts) running_.push_back({rank_of(view, job), job});
  if (traits_.when_stuck == WhenStuck::kReserve) {
    believed_end_[job] = view.now() + view.facts(job).remaining();
  }
  return true;
}

Chain::Shape* Chain::next_in_order(std::int32_t free, Instant now) {
  const bool anyone =
      traits_.when_stuck == WhenStuck::kWait || traits_.when_stuck == WhenStuck::kReserve;
  Shape* best = nullptr;
  for (Shape& shape : shapes_) {
    if (shape.out || shape.queue.empty() || (!anyone && shape.gpus > free)) continue;
    if (best != nullptr) {
      const RankedQueue::Entry& a = shape.queue.first();
      const RankedQueue::Entry& b = best->queue.first();
      const int order = compare(a.rank, b.rank, now);
      if (order > 0 || (order == 0 && b.job < a.job)) continue;
    }
    best = &shape;
  }
  return best;
}

void Chain::fill(const View& view, Draft& draft) {
  for (Shape& shape : shapes_) {
    shape.out = false;
    shape.queue.advance(view.now());
  }
  while (true) {
    const std::int32_t free = free_gpus(draft);
    if (free == 0) return;
    Shape* shape = traits_.when_stuck == WhenStuck::kAlign ? best_aligned(view, draft, free)
                                                           : next_in_order(free, view.now());
    if (shape == nullptr) return;
    const JobId job = shape->queue.first().job;
    if (take(view, draft, job)) continue;
    if (traits_.when_stuck == WhenStuck::kWait) return;
    if (traits_.when_stuck == WhenStuck::kReserve) {
      return fill_behind_reservation(view, draft, job);
    }
    shape->out = true;
  }
}

// EASY: the head gets its GPUs at the earliest time the estimates promise enough of them; others
// may start now if they end by then, or if they use GPUs that will be left over even then.
void Chain::fill_behind_reservation(const View& view, Draft& draft, JobId head) {
  const Instant now = view.now();
  ends_.clear();
  for (const JobId job : view.placed()) {
    if (draft.placement(job) != nullptr) {
      ends_.emplace_back(std::max(believed_end_[job], now), view.spec(job).gpus);
    }
  }
  for (const JobId job : starts_) ends_.emplace_back(believed_end_[job], view.spec(job).gpus);
  const auto later = [](const auto& a, const auto& b) { return a > b; };
  std::make_heap(ends_.begin(), ends_.end(), later);
  std::int32_t then_free = free_gpus(draft);
  Instant start_of_head = now;
  while (then_free < view.spec(head).gpus && !ends_.empty()) {
    std::pop_heap(ends_.begin(), ends_.end(), later);
    start_of_head = ends_.back().first;
    then_free += ends_.back().second;
    ends_.pop_back();
  }
  std::int32_t leftover = std::max(0, then_free - view.spec(head).gpus);
  const Duration until_then = start_of_head - now;
  shapes_[seats_[head].shape].out = true;
  std::optional<JobId> last = head;
  while (true) {
    const std::int32_t free = free_gpus(draft);
    if (free == 0) return;
    Shape* found = nullptr;
    JobId oldest;
    for (Shape& shape : shapes_) {
      if (shape.out || shape.gpus > free) continue;
      const Duration longest = shape.gpus <= leftover ? Duration::max() : until_then;
      const std::optional<JobId> job = shape.ages.oldest(longest, last);
      if (!job || (found != nullptr && oldest < *job)) continue;
      found = &shape;
      oldest = *job;
    }
    if (found == nullptr) return;
    last = oldest;
    if (!take(view, draft, oldest)) {
      found->out = true;
    } else if (believed_end_[oldest] > start_of_head) {
      leftover -= view.spec(oldest).gpus;
    }
  }
}

double Chain::alignment(const Draft& draft, const Shape& shape) const {
  // The dot product of what a job asks of a server and what the server has free, both relative to
  // its size. Servers with equally many free GPUs are taken to be alike.
  const Books& books = draft.books();
  const Topology& topology = cluster_->topology();
  const Profile& profile = cluster_->profiles()[shape.profile];
  double best = 0;
  for (std::int32_t count = 1; count <= topology.largest_node_gpus(); ++count) {
    const NodeId node = books.next_with_exactly(count, NodeId(0));
    if (node == books.no_node()) continue;
    const Resources& capacity = books.pooled() ? topology.total() : topology.node(node).capacity;
    const std::int32_t free = books.pooled() ? books.free_gpus() : count;
    const auto gpus = static_cast<double>(std::min(shape.gpus, free));
    const Resources each =
        mechanism_->depends_on_profile() ? profile.ideal() : cluster_->fair(node);
    const auto part = [&](std::int64_t asked, std::int64_t room, std::int64_t size) {
      if (size == 0) return 0.0;
      const auto whole = static_cast<double>(size);
      return gpus * static_cast<double>(asked) / whole * (static_cast<double>(room) / whole);
    };
    const Books::Room& room = books.room(node);
    const double score = part(1, free, capacity.gpus) +
                         part(each.cpu_milli, room.cpu_milli, capacity.cpu_milli) +
                         part(each.mem_mib, room.mem_mib, capacity.mem_mib);
    best = std::max(best, score / 3.0);
  }
  return best;
}

// Tetris: how well the shape suits what is free, less how much work its first job has left, each on
// a scale from 0 to 1.
Chain::Shape* Chain::best_aligned(const View& view, const Draft& draft, std::int32_t free) {
  const double typical =
      estimate_sum_us_ / static_cast<double>(std::max<std::int64_t>(1, estimates_seen_));
  Shape* best = nullptr;
  double best_score = 0;
  for (Shape& shape : shapes_) {
    if (shape.out || shape.queue.empty() || shape.gpus > free) continue;
    const auto left = static_cast<double>(view.facts(shape.queue.first().job).remaining().us());
    const double score = alignment(draft, shape) - left / (left + typical + 1.0);
    if (best == nullptr || score > best_score ||
        (score == best_score && shape.queue.first().job < best->queue.first().job)) {
      best = &shape;
      best_score = score;
    }
  }
  return best;
}

void Chain::rank_running(const View& view) {
  std::erase_if(running_, [&](const Ranked& entry) { return !view.is_placed(entry.job); });
  const Instant now = view.now();
  const auto before = [now](const Ranked& a, const Ranked& b) {
    const int order = compare(a.rank, b.rank, now);
    return order != 0 ? order < 0 : a.job < b.job;
  };
  // Nearly in order already: insertion sort is linear then.
  for (std::size_t i = 0; i < running_.size(); ++i) {
    Ranked entry{rank_of(view, running_[i].job), running_[i].job};
    std::size_t at = i;
    while (at > 0 && before(entry, running_[at - 1])) {
      running_[at] = running_[at - 1];
      --at;
    }
    running_[at] = entry;
  }
}

void Chain::select_by_count(const View& view) {
  const Instant now = view.now();
  for (Shape& shape : shapes_) {
    shape.queue.advance(now);
    shape.walk.begin(shape.queue, now);
  }
  for (const Ranked& entry : running_) budget_ += view.spec(entry.job).gpus;
  std::size_t next = 0;
  Shape* best = nullptr;
  while (true) {
    if (best == nullptr || best->walk.done() || best->gpus > budget_) {
      best = nullptr;
      for (Shape& shape : shapes_) {
        if (shape.walk.done() || shape.gpus > budget_) continue;
        if (best != nullptr) {
          const RankedQueue::Entry& a = shape.walk.entry();
          const RankedQueue::Entry& b = best->walk.entry();
          const int order = compare(a.rank, b.rank, now);
          if (order > 0 || (order == 0 && b.job < a.job)) continue;
        }
        best = &shape;
      }
    }
    const bool more_running = next < running_.size();
    if (best == nullptr && !more_running) return;
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
  rank_running(view);
  select_by_count(view);
  for (const JobId job : stops_) draft.stop(job);
  // By count they all fit together, whatever order the budget is spent in from here on.
  if (adaptive_) budget_ = cluster_->topology().total().gpus;
  bool all_placed = true;
  for (const JobId job : selected_) {
    if (take(view, draft, job)) continue;
    if (!make_room(view, draft, job, rank_of(view, job))) all_placed = false;
  }
  if (!all_placed) fill(view, draft);
}

// The GPUs for this job are there but not where it can use them. Takes them from whoever ranks
// behind it, wherever the placement wants; the others get their own back, or a place elsewhere.
bool Chain::make_room(const View& view, Draft& draft, JobId job, const Rank& rank) {
  const Draft::Mark mark = draft.mark();
  std::vector<std::pair<JobId, Placement>> displaced;
  for (const Ranked& entry : running_) {
    if (!view.is_placed(entry.job) || compare(rank, entry.rank, view.now()) >= 0) continue;
    const Placement* held = draft.placement(entry.job);
    if (held == nullptr) continue;
    displaced.emplace_back(entry.job, *held);
    draft.stop(entry.job);
  }
  if (!take(view, draft, job)) {
    draft.rollback(mark);
    return false;
  }
  for (auto& [other, held] : displaced) {
    if (draft.start(other, std::move(held))) continue;
    Ask ask = ask_for(view, other);
    mechanism_->place(*cluster_, *placer_, draft.books(), ask);
    if (!ask.given.empty()) draft.start(other, std::move(ask.given));
  }
  return true;
}

void Chain::rebalance(const View& view, Draft& draft) {
  asks_.clear();
  Books books = draft.books();
  for (const JobId job : view.placed()) {
    const Placement* held = draft.placement(job);
    if (held == nullptr) continue;  // Stopped in this plan.
    for (const Share& share : *held) books.give(share);
    asks_.push_back(ask_for(view, job));
    asks_.back().held = held;
  }
  for (const JobId job : starts_) asks_.push_back(ask_for(view, job));
  std::sort(asks_.begin(), asks_.end(), [](const Ask& a, const Ask& b) { return a.job < b.job; });
  mechanism_->rebalance(*cluster_, *placer_, books, asks_, Fidelity::kOurs);
  set_changed_ = false;
  write(draft, view);
}

void Chain::rebuild(const View& view, Draft& draft) {
  running_.clear();
  for (const JobId job : view.placed()) running_.push_back({rank_of(view, job), job});
  for (Shape& shape : shapes_) {
    shape.queue.advance(view.now());
    for (shape.walk.begin(shape.queue, view.now()); !shape.walk.done(); shape.walk.next()) {
      running_.push_back({shape.walk.entry().rank, shape.walk.entry().job});
    }
  }
  std::sort(running_.begin(), running_.end(), [&](const Ranked& a, const Ranked& b) {
    const int order = compare(a.rank, b.rank, view.now());
    return order != 0 ? order < 0 : a.job < b.job;
  });
  asks_.clear();
  for (const Ranked& entry : running_) {
    asks_.push_back(ask_for(view, entry.job));
    if (view.is_placed(entry.job)) continue;
    starts_.push_back(entry.job);
    unseat(entry.job, view.now());
  }
  Books empty(cluster_->topology(), pooling());
  mechanism_->rebalance(*cluster_, *placer_, empty, asks_, Fidelity::kPublished);
  write(draft, view);
}

// Pencils what the mechanism gave: first everything that changes is given up, then taken anew.
void Chain::write(Draft& draft, const View& view) {
  for (const Ask& ask : asks_) {
    const Placement* held = draft.placement(ask.job);
    if (held != nullptr && *held != ask.given) draft.stop(ask.job);
  }
  for (Ask& ask : asks_) {
    if (draft.placement(ask.job) != nullptr) continue;
    const bool started = !ask.given.empty() && draft.start(ask.job, std::move(ask.given));
    if (!started && !view.is_placed(ask.job)) enqueue(view, ask.job);
  }
}

}  // namespace muster
