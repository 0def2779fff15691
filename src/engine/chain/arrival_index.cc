#include "engine/chain/arrival_index.h"

#include <algorithm>
#include <bit>

#include "base/types/check.h"

namespace muster {

void ArrivalIndex::set(std::size_t position, Duration estimate) {
  std::size_t i = width_ + position;
  shortest_[i] = estimate;
  for (i /= 2; i >= 1; i /= 2) shortest_[i] = std::min(shortest_[2 * i], shortest_[2 * i + 1]);
}

void ArrivalIndex::rebuild(std::size_t width) {
  std::vector<JobId> jobs;
  std::vector<Duration> shortest(2 * width, Duration::max());
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    if (shortest_[width_ + i] == Duration::max()) continue;
    shortest[width + jobs.size()] = shortest_[width_ + i];
    jobs.push_back(jobs_[i]);
  }
  for (std::size_t i = width; i-- > 1;) {
    shortest[i] = std::min(shortest[2 * i], shortest[2 * i + 1]);
  }
  width_ = width;
  jobs_ = std::move(jobs);
  shortest_ = std::move(shortest);
}

void ArrivalIndex::insert(JobId job, Duration estimate) {
  MUSTER_CHECK(estimate < Duration::max());
  if (jobs_.size() == width_) rebuild(size_ * 2 < 16 ? 16 : std::bit_ceil(size_ * 2));
  ++size_;
  if (jobs_.empty() || jobs_.back() < job) {
    jobs_.push_back(job);
    set(jobs_.size() - 1, estimate);
    return;
  }
  const auto at = std::lower_bound(jobs_.begin(), jobs_.end(), job) - jobs_.begin();
  const auto place = static_cast<std::size_t>(at);
  if (jobs_[place] == job) {
    set(place, estimate);
    return;
  }
  jobs_.insert(jobs_.begin() + at, job);
  for (std::size_t i = jobs_.size(); --i > place;)
    shortest_[width_ + i] = shortest_[width_ + i - 1];
  shortest_[width_ + place] = estimate;
  for (std::size_t i = width_; i-- > 1;) {
    shortest_[i] = std::min(shortest_[2 * i], shortest_[2 * i + 1]);
  }
}

std::optional<std::size_t> ArrivalIndex::position(JobId job) const {
  const auto found = std::lower_bound(jobs_.begin(), jobs_.end(), job);
  if (found == jobs_.end() || *found != job) return std::nullopt;
  return static_cast<std::size_t>(found - jobs_.begin());
}

void ArrivalIndex::remove(JobId job) {
  const std::optional<std::size_t> at = position(job);
  MUSTER_CHECK(at && shortest_[width_ + *at] != Duration::max());
  set(*at, Duration::max());
  --size_;
}

std::optional<JobId> ArrivalIndex::oldest(Duration longest, std::optional<JobId> after) const {
  if (size_ == 0) return std::nullopt;
  longest = std::min(longest, Duration::max() - Duration::micros(1));  // Max marks empty leaves.
  std::size_t from = 0;
  if (after) {
    from = static_cast<std::size_t>(std::upper_bound(jobs_.begin(), jobs_.end(), *after) -
                                    jobs_.begin());
  }
  if (from >= width_) return std::nullopt;
  // Climbs from the first allowed leaf until a subtree to the right has a match, then descends.
  std::size_t i = width_ + from;
  while (shortest_[i] > longest) {
    while (i % 2 == 1) {
      if (i == 1) return std::nullopt;
      i /= 2;
    }
    if (i == 1) return std::nullopt;
    ++i;
  }
  while (i < width_) i = shortest_[2 * i] <= longest ? 2 * i : 2 * i + 1;
  return jobs_[i - width_];
}

}  // namespace muster
