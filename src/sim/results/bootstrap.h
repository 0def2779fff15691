#pragma once

// Confidence intervals for a mean over a few seeds (Efron's bootstrap). Sweeps call it once for
// each group of cells that differ only in the seed.

#include <cstdint>
#include <span>

namespace muster {

struct Interval {
  double mean = 0;
  double low = 0;  // In 95% of the resamplings the mean lies between low and high.
  double high = 0;
};

// Percentile bootstrap with 2,000 resamplings; deterministic on every machine. A single value is
// its own interval. REQUIRES: `values` is not empty.
Interval bootstrap_mean(std::span<const double> values, std::uint64_t seed = 1);

}  // namespace muster
