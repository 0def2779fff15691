#pragma once

// How much service (GPUs times time) jobs turn out to need, and from it the Gittins index: of those
// that got as far as this job, how many would end within the next quantum, for each GPU-second
// spent on them? The policies of Tiresias' 2D-Gittins rank by it; larger goes first.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace muster {

// The index as a fraction of whole numbers, so that the order of jobs never depends on rounding.
// Turned over, service / finishing, it serves as a Rank (smaller first) unless finishing is zero.
struct GittinsIndex {
  // Of the earlier jobs that got this far: how many ended within the quantum, and how much of it
  // they all used, ended or not, in GPU-microseconds (positive).
  std::int64_t finishing = 0;
  std::int64_t service = 1;

  // For reports: ends per GPU-second.
  double value() const {
    return 1e6 * static_cast<double>(finishing) / static_cast<double>(service);
  }
};

// Negative, zero or positive as `a` is smaller than, equal to or larger than `b`. Exact.
int compare(const GittinsIndex& a, const GittinsIndex& b);

// Samples of service in GPU-microseconds, none negative, sorted for quick answers. Memory is
// bounded: once there are kMostSamples, each new one takes the place of the oldest.
class ServiceDistribution {
 public:
  static constexpr std::size_t kMostSamples = 10'000;
  // A longer quantum counts as this one, 29 GPU-years, so that GittinsIndex::service cannot
  // overflow.
  static constexpr std::int64_t kLargestQuantum =
      std::numeric_limits<std::int64_t>::max() / static_cast<std::int64_t>(kMostSamples);

  ServiceDistribution() = default;
  // A history. Its order is of no account (it may be sorted by size, so its first need not be its
  // oldest): of too many, kMostSamples drawn with a fixed seed are kept, and learn() replaces them
  // in an order drawn likewise. Equal samples give equal distributions.
  explicit ServiceDistribution(std::vector<std::int64_t> samples);

  // A job ended after this much service. Takes time in proportion to size(), up to ten
  // microseconds.
  void learn(std::int64_t service);

  std::size_t size() const { return sorted_.size(); }

  // For a job that has had `attained` and would get `quantum` (positive) more:
  // P(S - attained <= quantum | S > attained) / E[min(S - attained, quantum) | S > attained].
  // Zero, the last place, where no sample is larger than `attained` or none of those ends within
  // the quantum. Logarithmic in size().
  GittinsIndex index(std::int64_t attained, std::int64_t quantum) const;

 private:
  // A sum of 64-bit numbers; a compiler extension that both our compilers have.
  __extension__ typedef __int128 Wide;

  std::size_t count_up_to(std::int64_t service) const;  // How many samples are not larger.
  void sum_from(
      std::size_t first);  // Brings sums_ up to date where it follows from sorted_[first..].

  std::vector<std::int64_t> by_age_;  // The oldest at oldest_, going round.
  std::size_t oldest_ = 0;
  std::vector<std::int64_t> sorted_;
  std::vector<Wide> sums_ = {0};  // sums_[i] is that of the i smallest.
};

}  // namespace muster
