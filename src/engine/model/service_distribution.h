#pragma once

// Distribution of the service (GPUs times time) that jobs need, and the Gittins index from it:
// among earlier jobs that reached this job's attained service, the number of completions within the
// next quantum per GPU-second spent. Tiresias' 2D-Gittins policies run jobs with a larger index
// first.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace muster {

// The index as a fraction of integers, so that job order never depends on rounding. The inverse,
// service / finishing, is a Rank (smaller first) if finishing is not zero.
struct GittinsIndex {
  // Among earlier jobs with more service than this one: how many finish within the quantum, and the
  // GPU-microseconds of it that all of them use (positive).
  std::int64_t finishing = 0;
  std::int64_t service = 1;

  // For reports: completions per GPU-second.
  double value() const {
    return 1e6 * static_cast<double>(finishing) / static_cast<double>(service);
  }
};

// Returns a negative, zero or positive number if `a` is smaller than, equal to or larger than `b`.
// Exact.
int compare(const GittinsIndex& a, const GittinsIndex& b);

// Service samples in GPU-microseconds, none negative. Memory is bounded: with kMaxSamples samples,
// each new one replaces the oldest.
class ServiceDistribution {
 public:
  static constexpr std::size_t kMaxSamples = 10'000;
  // Longer quanta are clamped to this (29 GPU-years), so that GittinsIndex::service cannot
  // overflow.
  static constexpr std::int64_t kLargestQuantum =
      std::numeric_limits<std::int64_t>::max() / static_cast<std::int64_t>(kMaxSamples);

  ServiceDistribution() = default;
  // Builds the distribution from a history in any order; it may be sorted by size. If it is too
  // long, kMaxSamples samples are drawn with a fixed seed. learn() replaces them in a random but
  // fixed order. Equal sample sets give equal distributions.
  explicit ServiceDistribution(std::vector<std::int64_t> samples);

  // Adds the service of a finished job. O(size()), at most about 10 microseconds.
  void learn(std::int64_t service);

  std::size_t size() const { return sorted_.size(); }

  // Index of a job with service `attained` that would get `quantum` (positive) more:
  // P(S - attained <= quantum | S > attained) / E[min(S - attained, quantum) | S > attained].
  // Zero (lowest rank) if no sample is larger than `attained` or none of these finishes within the
  // quantum. O(log size()).
  GittinsIndex index(std::int64_t attained, std::int64_t quantum) const;

 private:
  // 128-bit sum of 64-bit numbers; an extension of GCC and Clang.
  __extension__ typedef __int128 Wide;

  std::size_t count_up_to(std::int64_t service) const;  // Number of samples <= service.
  void sum_from(std::size_t first);                     // Recomputes sums_ for sorted_[first..].

  std::vector<std::int64_t> by_age_;  // Ring buffer; the oldest sample is at oldest_.
  std::size_t oldest_ = 0;
  std::vector<std::int64_t> sorted_;
  std::vector<Wide> sums_ = {0};  // sums_[i] is the sum of the i smallest samples.
};

}  // namespace muster
