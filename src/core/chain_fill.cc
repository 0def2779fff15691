// Chain without preemption: jobs start on what is free.

#include "core/chain.h"

#include <algorithm>
#include <utility>

namespace muster {

using WhenStuck = PolicyTraits::WhenStuck;

// Whose first job is served sooner: one within its tenant's part, then who borrows nearby, then by
// turn, then by rank.
bool Chain::served_before(const Shape& a, const Shape& b, Instant now) const {
  if (tenancy_) {
    const std::size_t distance_a = distance(a);
    const std::size_t distance_b = distance(b);
    if (distance_a != distance_b) return distance_a < distance_b;
    const int turn = tenancy_->compare_turns(a.tenant, a.user, b.tenant, b.user);
    if (turn != 0) return turn < 0;
  }
  return goes_before(a.queue.first(), b.queue.first(), now);
}

std::vector<JobId> Chain::fronts(Instant now) const {
  std::vector<JobId> jobs;
  const Shape* best = nullptr;
  for (const Shape& shape : shapes_) {
    if (shape.queue.empty()) continue;
    jobs.push_back(shape.queue.first().job);
    if (best != nullptr && !served_before(shape, *best, now)) continue;
    best = &shape;
    std::swap(jobs.front(), jobs.back());
  }
  return jobs;
}

// Where nobody overtakes, that is meant inside a tenant: only its oldest job may be next.
bool Chain::is_passed_by(const Shape& shape, Instant now) const {
  return traits_.when_stuck == WhenStuck::kWait &&
         std::any_of(shapes_.begin(), shapes_.end(), [&](const Shape& other) {
           return !other.queue.empty() && other.tenant == shape.tenant &&
                  !(other.out && !other.avoid.empty()) &&
                  goes_before(other.queue.first(), shape.queue.first(), now);
         });
}

Chain::Shape* Chain::next_in_order(std::int32_t free, Instant now,
                                   std::optional<std::size_t> near) {
  const bool anyone =
      traits_.when_stuck == WhenStuck::kWait || traits_.when_stuck == WhenStuck::kReserve;
  Shape* best = nullptr;
  for (Shape& shape : shapes_) {
    if (shape.out || shape.queue.empty() || (!anyone && shape.gpus > free)) continue;
    if (tenancy_ && ((near && distance(shape) > *near) || is_passed_by(shape, now))) continue;
    if (best != nullptr && !served_before(shape, *best, now)) continue;
    best = &shape;
  }
  return best;
}

void Chain::fill(const View& view, Draft& draft, std::optional<std::size_t> near) {
  for (Shape& shape : shapes_) {
    shape.out = false;
    shape.queue.advance(view.now());
  }
  while (true) {
    const std::int32_t free = free_gpus(draft);
    if (free == 0) return;
    Shape* shape = traits_.when_stuck == WhenStuck::kAlign ? best_aligned(view, draft, free, near)
                                                           : next_in_order(free, view.now(), near);
    if (shape == nullptr) return;
    const JobId job = shape->queue.first().job;
    if (take(view, draft, job)) continue;
    shape->no_place = true;
    if (!shape->avoid.empty()) {  // It waits by choice, so nobody has to wait for it.
      shape->out = true;
      continue;
    }
    if (traits_.when_stuck == WhenStuck::kWait) {
      if (!tenancy_) {
        const JobSpec& spec = view.spec(job);
        const std::int32_t of_its_type = draft.books().free_gpus(spec.gpu_type);
        kept_ = {job, std::min({spec.gpus, free, of_its_type}), Instant::never()};
        return;
      }
      for (Shape& other : shapes_) other.out |= other.tenant == shape->tenant;
      continue;
    }
    if (traits_.when_stuck == WhenStuck::kReserve) {
      if (near) return;
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
  // The head does not fit now, be it that enough are free in the wrong places, so somebody has to
  // end first. All that end at that time count, or what is left over would depend on their order.
  const std::int32_t wanted = view.spec(head).gpus;
  bool nobody_ended = true;
  while (!ends_.empty() &&
         (nobody_ended || then_free < wanted || ends_.front().first <= start_of_head)) {
    std::pop_heap(ends_.begin(), ends_.end(), later);
    start_of_head = ends_.back().first;
    then_free += ends_.back().second;
    ends_.pop_back();
    nobody_ended = false;
  }
  std::int32_t leftover = std::max(0, then_free - wanted);
  if (view.spec(head).is_particular()) {  // GPUs alone do not do.
    start_of_head = when_it_fits(view, draft, head);
    leftover = 0;
  }
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
      if (!job) continue;
      if (found != nullptr) {
        const std::size_t far = tenancy_ ? distance(shape) : 0;
        const std::size_t found_far = tenancy_ ? distance(*found) : 0;
        if (far != found_far ? found_far < far : oldest < *job) continue;
      }
      found = &shape;
      oldest = *job;
    }
    if (found == nullptr) {
      // The rest may be had by whoever comes, for as long as he likes.
      const std::int32_t kept = std::min(wanted, free - std::max(0, leftover));
      if (kept > 0) kept_ = {head, kept, start_of_head};
      return;
    }
    last = oldest;
    if (!take(view, draft, oldest)) {
      found->out = found->no_place = true;
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
    Resources each = mechanism_->depends_on_profile() ? profile.ideal() : cluster_->fair(node);
    if (!profile.memory_known()) each.mem_mib = cluster_->fair(node).mem_mib;
    each = at_least(each, shape.least);
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
Chain::Shape* Chain::best_aligned(const View& view, const Draft& draft, std::int32_t free,
                                  std::optional<std::size_t> near) {
  const double typical =
      estimate_sum_us_ / static_cast<double>(std::max<std::int64_t>(1, estimates_seen_));
  Shape* best = nullptr;
  double best_score = 0;
  for (Shape& shape : shapes_) {
    if (shape.out || shape.queue.empty() || shape.gpus > free) continue;
    if (near && distance(shape) > *near) continue;
    const auto left = static_cast<double>(view.facts(shape.queue.first().job).remaining().us());
    const double score = alignment(draft, shape) - left / (left + typical + 1.0);
    if (best != nullptr && tenancy_ && distance(shape) != distance(*best)) {
      if (distance(*best) < distance(shape)) continue;
      best = nullptr;
    }
    if (best == nullptr || score > best_score ||
        (score == best_score && shape.queue.first().job < best->queue.first().job)) {
      best = &shape;
      best_score = score;
    }
  }
  return best;
}

}  // namespace muster
