#include "engine/policy/mlfq.h"

#include <algorithm>
#include <functional>

#include "base/types/saturate.h"

namespace muster {

namespace {

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

std::int64_t Mlfq::service(const JobFacts& job) const {
  return options_.by_time ? job.gpu_us / job.gpus : job.gpu_us;
}

std::int64_t Mlfq::attained(const JobFacts& job) const {
  return service(job) - places_[job.id].forgotten;
}

const Duration* Mlfq::threshold_of(JobId job) const {
  const auto queue = static_cast<std::size_t>(places_[job].queue);
  return queue < options_.thresholds.size() ? &options_.thresholds[queue] : nullptr;
}

void Mlfq::submitted(const JobFacts& job) {
  if (!places_.contains(job.id)) places_.resize(std::size_t{job.id.index()} + 1);
  places_[job.id] = Place{};
}

void Mlfq::started(const JobFacts& job) {
  places_[job.id].running = true;
  expect_demotion(job);
}

void Mlfq::stopped(const JobFacts& job) {
  Place& place = places_[job.id];
  place.running = false;
  ++place.waits;
  place.served = service(job);
  const std::int64_t ran = options_.by_time ? attained(job) : attained(job) / job.gpus;
  const bool may_rise = place.queue > 0 || promotes_inside_first();
  if (options_.promote_permille == 0 || !may_rise || ran <= 0) return;
  const Duration patience =
      std::min(Duration::micros(saturating_multiply(ran, options_.promote_permille) / 1000),
               kLongestDuration);
  promotions_.push_back({job.now + patience, job.id, place.waits});
  std::push_heap(promotions_.begin(), promotions_.end(), std::greater<>());
}

void Mlfq::ended(const JobFacts& job, bool /*completed*/) {
  places_[job.id].running = false;
  ++places_[job.id].waits;
}

void Mlfq::expect_review(const JobFacts& job, std::int64_t service_from_now) {
  const std::int64_t wait = divide_up(service_from_now, options_.by_time ? 1 : job.gpus);
  expected_.emplace_back(job.id, job.now + Duration::micros(std::max<std::int64_t>(wait, 1)));
}

void Mlfq::expect_demotion(const JobFacts& job) {
  const Duration* threshold = threshold_of(job.id);
  if (threshold != nullptr) expect_review(job, until_demotion(job, *threshold));
}

void Mlfq::review(const JobFacts& job) {
  if (first_) {
    first_ = false;
    expected_.clear();
    begin_review();
  }
  const Duration* threshold = threshold_of(job.id);
  if (threshold != nullptr && attained(job) >= threshold->us()) {
    ++places_[job.id].queue;
    demoted(job);
  }
  expect_demotion(job);
}

void Mlfq::reviewed(Instant now, std::vector<JobId>& moved) {
  if (first_) expected_.clear();  // No job runs.
  first_ = true;
  while (!promotions_.empty()) {
    const Promotion due = promotions_.front();
    Place& place = places_[due.job];
    const bool is_void = place.running || place.waits != due.waits;
    if (due.at > now && !is_void) break;
    std::pop_heap(promotions_.begin(), promotions_.end(), std::greater<>());
    promotions_.pop_back();
    if (is_void) continue;
    place.queue = 0;
    place.forgotten = place.served;
    promoted(due.job);
    moved.push_back(due.job);
  }
}

Instant Mlfq::review_at() const {
  Instant next = promotions_.empty() ? Instant::never() : promotions_.front().at;
  for (const auto& [job, at] : expected_) {
    if (places_[job].running) next = std::min(next, at);
  }
  return next;
}

}  // namespace muster
