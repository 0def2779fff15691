#include "policy/mlfq.h"

#include <algorithm>
#include <functional>

#include "base/saturate.h"

namespace muster {

namespace {

// Room for the order inside a queue: first those that run, then those stopped (the latest first),
// then the rest.
constexpr std::int64_t kQueueSpan = std::int64_t{1} << 40;
constexpr std::int64_t kWaiting = kQueueSpan / 2;

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

std::int64_t MlfqLas::attained(const JobFacts& job) const {
  const std::int64_t service = options_.by_time ? job.gpu_us / job.gpus : job.gpu_us;
  return service - places_[job.id].forgotten;
}

Rank MlfqLas::rank(const JobFacts& job) const {
  const Place& place = places_[job.id];
  const bool behind = !place.running || place.demoted;
  Rank rank;
  rank.base = place.queue * kQueueSpan + (behind ? kWaiting + place.ahead : 0);
  rank.tie = place.order;
  return rank;
}

void MlfqLas::submitted(const JobFacts& job) {
  if (!places_.contains(job.id)) places_.resize(std::size_t{job.id.index()} + 1);
  places_[job.id] = Place{};
  places_[job.id].order = ++counter_;
}

void MlfqLas::started(const JobFacts& job) {
  Place& place = places_[job.id];
  place.running = true;
  place.order = ++counter_;
  expect_demotion(job);
}

void MlfqLas::stopped(const JobFacts& job) {
  Place& place = places_[job.id];
  place.running = false;
  place.ahead = place.demoted ? 0 : -plans_;
  place.demoted = false;
  ++place.waits;
  place.served = place.forgotten + attained(job);
  const std::int64_t ran = options_.by_time ? attained(job) : attained(job) / job.gpus;
  if (options_.promote_permille == 0 || place.queue == 0 || ran <= 0) return;
  const Duration patience =
      std::min(Duration::micros(saturating_multiply(ran, options_.promote_permille) / 1000),
               kLongestDuration);
  promotions_.push_back({job.now + patience, job.id, place.waits});
  std::push_heap(promotions_.begin(), promotions_.end(), std::greater<>());
}

void MlfqLas::ended(const JobFacts& job, bool /*completed*/) {
  places_[job.id].running = false;
  ++places_[job.id].waits;
}

void MlfqLas::expect_demotion(const JobFacts& job) {
  const auto queue = static_cast<std::size_t>(places_[job.id].queue);
  if (queue >= options_.thresholds.size()) return;
  const std::int64_t limit = options_.thresholds[queue].us();
  const std::int64_t pace = options_.by_time ? 1 : job.gpus;
  std::int64_t wait = divide_up(limit - attained(job), pace);
  if (options_.late_demotion) {
    const std::int64_t second = Duration::seconds(1).us();
    const std::int64_t ran = attained(job) / pace;
    wait = divide_up(divide_up(limit - ran, pace), second) * second;
  }
  demotions_.emplace_back(job.id, job.now + Duration::micros(std::max<std::int64_t>(wait, 1)));
}

void MlfqLas::review(const JobFacts& job) {
  if (first_) {
    first_ = false;
    demotions_.clear();
    // Who was demoted and runs on has its turn among the running ones of its new queue.
    std::sort(demoted_.begin(), demoted_.end());
    for (const JobId id : demoted_) {
      Place& place = places_[id];
      if (!place.running || !place.demoted) continue;
      place.demoted = false;
      place.order = ++counter_;
    }
    demoted_.clear();
    ++counter_;
  }
  Place& place = places_[job.id];
  const auto queue = static_cast<std::size_t>(place.queue);
  if (queue < options_.thresholds.size() && attained(job) >= options_.thresholds[queue].us()) {
    ++place.queue;
    place.demoted = true;
    place.ahead = 0;
    place.order = counter_;  // The same for all of this review: the older job goes first.
    demoted_.push_back(job.id);
  }
  expect_demotion(job);
}

void MlfqLas::reviewed(Instant now, std::vector<JobId>& moved) {
  if (first_) demotions_.clear();  // Nobody runs.
  first_ = true;
  ++plans_;
  while (!promotions_.empty()) {
    const Promotion due = promotions_.front();
    Place& place = places_[due.job];
    const bool void_by_now = place.running || place.waits != due.waits;
    if (due.at > now && !void_by_now) break;
    std::pop_heap(promotions_.begin(), promotions_.end(), std::greater<>());
    promotions_.pop_back();
    if (void_by_now) continue;
    place.queue = 0;
    place.ahead = 0;
    place.order = ++counter_;
    place.forgotten = place.served;
    moved.push_back(due.job);
  }
}

Instant MlfqLas::review_at() const {
  Instant next = promotions_.empty() ? Instant::never() : promotions_.front().at;
  for (const auto& [job, at] : demotions_) {
    if (places_[job].running) next = std::min(next, at);
  }
  return next;
}

}  // namespace muster
