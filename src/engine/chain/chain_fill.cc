// Chain without preemption: jobs start on what is free.

#include "engine/chain/chain.h"

#include <algorithm>
#include <utility>

namespace muster {

using WhenStuck = PolicyTraits::WhenStuck;

namespace {

double alignment(const Cluster& cluster, const Mechanism& mechanism, const Books& books,
                 const DemandClass& shape) {
  // The dot product of what a job asks of a server and what the server has free, both relative to
  // its size. Servers with equally many free GPUs are taken to be alike.
  const Topology& topology = cluster.topology();
  const Profile& profile = cluster.profiles()[shape.profile];
  double best = 0;
  for (std::int32_t count = 1; count <= topology.largest_node_gpus(); ++count) {
    const NodeId node = books.next_with_exactly(count, NodeId(0));
    if (node == books.no_node()) continue;
    const Resources& capacity = books.pooled() ? topology.total() : topology.node(node).capacity;
    const std::int32_t free = books.pooled() ? books.free_gpus() : count;
    const auto gpus = static_cast<double>(std::min(shape.gpus, free));
    Resources each = mechanism.depends_on_profile() ? profile.ideal() : cluster.fair(node);
    if (!profile.memory_known()) each.mem_mib = cluster.fair(node).mem_mib;
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

}  // namespace

// EASY: the head gets its GPUs at the earliest time the estimates promise enough of them; others
// may start now if they end by then, or if they use GPUs that will be left over even then.
class Chain::Backfill {
 public:
  Backfill(Chain& chain, const View& view, Draft& draft, JobId head)
      : chain_(chain), view_(view), draft_(draft), head_(head), start_of_head_(view.now()) {}
  void run();

 private:
  struct Candidate {
    Shape* shape = nullptr;  // Null: nobody.
    JobId job;
  };
  void reserve();
  Instant when_it_fits() const;
  Candidate oldest_that_fits(std::int32_t free, std::optional<JobId> last) const;
  void keep_for_head(std::int32_t free);

  Chain& chain_;
  const View& view_;
  Draft& draft_;
  JobId head_;
  Instant start_of_head_;
  std::int32_t leftover_ = 0;  // GPUs that the head does not need when it starts.
};

void Chain::Backfill::reserve() {
  std::vector<std::pair<Instant, std::int32_t>>& ends = chain_.ends_;
  ends.clear();
  for (const JobId job : view_.placed()) {
    if (draft_.placement(job) != nullptr) {
      ends.emplace_back(std::max(chain_.believed_end_[job], view_.now()), view_.spec(job).gpus);
    }
  }
  for (const JobId job : chain_.starts_) {
    ends.emplace_back(chain_.believed_end_[job], view_.spec(job).gpus);
  }
  const auto later = [](const auto& a, const auto& b) { return a > b; };
  std::make_heap(ends.begin(), ends.end(), later);
  std::int32_t then_free = chain_.free_gpus(draft_);
  // The head does not fit now, be it that enough are free in the wrong places, so somebody has to
  // end first. All that end at that time count, or what is left over would depend on their order.
  const std::int32_t wanted = view_.spec(head_).gpus;
  bool nobody_ended = true;
  while (!ends.empty() &&
         (nobody_ended || then_free < wanted || ends.front().first <= start_of_head_)) {
    std::pop_heap(ends.begin(), ends.end(), later);
    start_of_head_ = ends.back().first;
    then_free += ends.back().second;
    ends.pop_back();
    nobody_ended = false;
  }
  leftover_ = std::max(0, then_free - wanted);
  if (view_.spec(head_).is_particular()) {  // GPUs alone do not do.
    start_of_head_ = when_it_fits();
    leftover_ = 0;
  }
}

// When the believed ends of running jobs leave room for one that asks for more than GPUs.
Instant Chain::Backfill::when_it_fits() const {
  std::vector<std::pair<Instant, JobId>> ends;
  for (const JobId job : view_.placed()) {
    if (draft_.placement(job) == nullptr) continue;
    ends.emplace_back(std::max(chain_.believed_end_[job], view_.now()), job);
  }
  for (const JobId job : chain_.starts_) {
    if (draft_.placement(job) != nullptr) ends.emplace_back(chain_.believed_end_[job], job);
  }
  std::sort(ends.begin(), ends.end());
  Books books = draft_.books();
  for (const auto& [end, job] : ends) {
    for (const Share& share : *draft_.placement(job)) books.give(share);
    Ask ask = chain_.ask_for(view_, head_);
    chain_.mechanism_->place(*chain_.cluster_, *chain_.placer_, books, ask);
    if (!ask.given.empty()) return end;
  }
  return Instant::never();
}

Chain::Backfill::Candidate Chain::Backfill::oldest_that_fits(std::int32_t free,
                                                             std::optional<JobId> last) const {
  const Duration until_then = start_of_head_ - view_.now();
  Candidate found;
  for (Shape& shape : chain_.shapes_) {
    if (shape.out || shape.gpus > free) continue;
    const Duration longest = shape.gpus <= leftover_ ? Duration::max() : until_then;
    const std::optional<JobId> job = shape.ages.oldest(longest, last);
    if (!job) continue;
    if (found.shape != nullptr) {
      const std::size_t far = chain_.tenancy_ ? chain_.distance(shape) : 0;
      const std::size_t found_far = chain_.tenancy_ ? chain_.distance(*found.shape) : 0;
      if (far != found_far ? found_far < far : found.job < *job) continue;
    }
    found = {&shape, *job};
  }
  return found;
}

// Any job may have the rest, for any time.
void Chain::Backfill::keep_for_head(std::int32_t free) {
  const std::int32_t kept = std::min(view_.spec(head_).gpus, free - std::max(0, leftover_));
  if (kept > 0) chain_.kept_ = {head_, kept, start_of_head_};
}

void Chain::Backfill::run() {
  reserve();
  chain_.shapes_[chain_.seats_[head_].shape].out = true;
  std::optional<JobId> last = head_;
  while (true) {
    const std::int32_t free = chain_.free_gpus(draft_);
    if (free == 0) return;
    const auto [shape, oldest] = oldest_that_fits(free, last);
    if (shape == nullptr) return keep_for_head(free);
    last = oldest;
    if (!chain_.take(view_, draft_, oldest)) {
      shape->out = shape->no_place = true;
    } else if (chain_.believed_end_[oldest] > start_of_head_) {
      leftover_ -= view_.spec(oldest).gpus;
    }
  }
}

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
      return Backfill(*this, view, draft, job).run();
    }
    shape->out = true;
  }
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
    const double score =
        alignment(*cluster_, *mechanism_, draft.books(), shape) - left / (left + typical + 1.0);
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
