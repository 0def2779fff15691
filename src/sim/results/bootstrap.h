#pragma once

// How sure a mean over a few seeds is: Efron's bootstrap. A sweep calls it for each group of cells
// that differ in the seed only.

#include <cstdint>
#include <span>

namespace muster {

struct Interval {
  double mean = 0;
  double low = 0;  // Between these the mean lies in 95 of 100 resamplings.
  double high = 0;
};

// The percentile bootstrap with 2,000 resamplings, the same on every machine. One value is its own
// interval. Wants at least one value.
Interval bootstrap_mean(std::span<const double> values, std::uint64_t seed = 1);

}  // namespace muster
