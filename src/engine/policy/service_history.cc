#include "engine/policy/service_history.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace muster {

namespace {

constexpr auto kMaxSamples = static_cast<std::int64_t>(ServiceDistribution::kMaxSamples);

// Longer quanta are clamped to this (14 GPU-years for one level, some weeks for 200), so that ranks
// do not overflow. The scale of a rank is service + finishing, at most quantum + 1 per sample. Its
// base is at most 2 * levels times that.
constexpr std::int64_t largest_quantum(std::int64_t levels) {
  return ServiceDistribution::kLargestQuantum / (2 * levels) - 1;
}
constexpr bool fits(std::int64_t levels) {
  return static_cast<Wide>(2 * levels) * kMaxSamples * (largest_quantum(levels) + 1) <=
         std::numeric_limits<std::int64_t>::max();
}
static_assert(fits(1) && fits(2) && fits(4) && fits(202) && fits(1'000'000));

}  // namespace

// A level spans two units. New jobs are in the middle: jobs with a larger index before them, jobs
// with a smaller index after them. Each half uses 1 / (1 + index), above 0 and at most 1 (index
// zero).
Rank rank_by_index(std::int64_t level, const GittinsIndex& index, const GittinsIndex& of_new) {
  const int against_new = compare(index, of_new);
  if (against_new == 0) return {2 * level + 1};
  const std::int64_t half = 2 * level + (against_new > 0 ? 0 : 1);
  Rank rank;
  rank.scale = index.service + index.finishing;
  rank.base = half * rank.scale + index.service;
  return rank;
}

ServiceHistory::ServiceHistory(ServiceDistribution told, std::int64_t levels)
    : learns_(told.size() == 0),
      largest_quantum_(largest_quantum(levels)),
      known_(std::move(told)) {}

GittinsIndex ServiceHistory::index(std::int64_t attained, std::int64_t quantum) const {
  return known_.index(attained, std::min(quantum, largest_quantum_));
}

void ServiceHistory::completed(std::int64_t service) {
  if (!learns_) return;
  if (completed_ < kMaxSamples) {
    samples_.push_back(service);
  } else {
    samples_[static_cast<std::size_t>(completed_ % kMaxSamples)] = service;
  }
  ++completed_;
}

void ServiceHistory::set_waiting(JobId job, bool waiting) {
  if (!waiting_.contains(job)) {
    if (!waiting) return;
    waiting_.resize(std::size_t{job.index()} + 1);
  }
  waiting_[job] = waiting ? 1 : 0;
}

bool ServiceHistory::renew(std::vector<JobId>& moved) {
  if (completed_ - renewed_at_ < std::max(kMin, renewed_at_ / 10)) return false;
  renewed_at_ = completed_;
  known_ = ServiceDistribution(samples_);
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    if (waiting_[JobId(i)] != 0) moved.emplace_back(i);
  }
  return true;
}

}  // namespace muster
