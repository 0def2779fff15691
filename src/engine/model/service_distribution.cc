#include "engine/model/service_distribution.h"

#include <algorithm>
#include <utility>

#include "base/types/check.h"
#include "base/types/random.h"
#include "base/types/saturate.h"

namespace muster {

int compare(const GittinsIndex& a, const GittinsIndex& b) {
  __extension__ typedef __int128 Wide;
  const Wide left = static_cast<Wide>(a.finishing) * b.service;
  const Wide right = static_cast<Wide>(b.finishing) * a.service;
  return left < right ? -1 : left > right ? 1 : 0;
}

ServiceDistribution::ServiceDistribution(std::vector<std::int64_t> samples)
    : by_age_(std::move(samples)) {
  // Sort first, so that the random selection does not depend on the input order.
  std::sort(by_age_.begin(), by_age_.end());
  MUSTER_CHECK(by_age_.empty() || by_age_.front() >= 0);
  Random random(0);
  for (std::size_t i = by_age_.size(); i > 1; --i) {
    std::swap(by_age_[i - 1], by_age_[random.below(i)]);
  }
  if (by_age_.size() > kMaxSamples) by_age_.resize(kMaxSamples);
  sorted_ = by_age_;
  std::sort(sorted_.begin(), sorted_.end());
  sum_from(0);
}

void ServiceDistribution::learn(std::int64_t service) {
  MUSTER_CHECK(service >= 0);
  std::size_t first_changed = sorted_.size();
  if (by_age_.size() < kMaxSamples) {
    by_age_.push_back(service);
  } else {
    const std::int64_t forgotten = std::exchange(by_age_[oldest_], service);
    oldest_ = (oldest_ + 1) % kMaxSamples;
    const auto place = std::lower_bound(sorted_.begin(), sorted_.end(), forgotten);
    first_changed = static_cast<std::size_t>(place - sorted_.begin());
    sorted_.erase(place);
  }
  const std::size_t place = count_up_to(service);
  sorted_.insert(sorted_.begin() + static_cast<std::ptrdiff_t>(place), service);
  sum_from(std::min(first_changed, place));
}

GittinsIndex ServiceDistribution::index(std::int64_t attained, std::int64_t quantum) const {
  MUSTER_CHECK(attained >= 0 && quantum > 0);
  quantum = std::min(quantum, kLargestQuantum);
  const std::size_t first = count_up_to(attained);
  if (first == sorted_.size()) return {};
  const std::size_t last = count_up_to(saturating_add(attained, quantum));
  const auto finishing = static_cast<std::int64_t>(last - first);
  const auto staying = static_cast<std::int64_t>(sorted_.size() - last);
  const Wide service = sums_[last] - sums_[first] - static_cast<Wide>(finishing) * attained +
                       static_cast<Wide>(staying) * quantum;
  return {finishing, static_cast<std::int64_t>(service)};
}

std::size_t ServiceDistribution::count_up_to(std::int64_t service) const {
  return static_cast<std::size_t>(std::upper_bound(sorted_.begin(), sorted_.end(), service) -
                                  sorted_.begin());
}

void ServiceDistribution::sum_from(std::size_t first) {
  sums_.resize(sorted_.size() + 1);
  for (std::size_t i = first; i < sorted_.size(); ++i) sums_[i + 1] = sums_[i] + sorted_[i];
}

}  // namespace muster
