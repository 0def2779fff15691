#pragma once

// Non-negative least squares for few unknowns: finds the x >= 0 that minimizes |A x - b|.
// speed_fit.h uses it for sums of costs, which cannot be negative.

#include <cstddef>
#include <span>
#include <vector>

namespace muster {

inline constexpr std::size_t kMaxUnknowns = 8;

struct NnlsAnswer {
  std::vector<double> x;  // All >= 0.
  double residual = 0;    // sqrt(sum of weight * (A x - b)^2).
};

// `a` is A in row-major order: b.size() rows of `unknowns` numbers. `weights` has one number >= 0
// per row; empty means equal weights. All numbers must be finite.
//
// Tries every set of non-zero unknowns, so the result is the global minimum and needs no starting
// point. The scale of the columns does not matter. If columns are dependent, the result has the
// minimum number of non-zero unknowns and prefers earlier columns. O(2^unknowns) fits.
NnlsAnswer solve_nnls(std::span<const double> a, std::size_t unknowns, std::span<const double> b,
                      std::span<const double> weights = {});

}  // namespace muster
