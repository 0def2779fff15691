#pragma once

// Non-negative least squares for a handful of unknowns: the x >= 0 that makes A x closest to b.
// speed_fit.h uses it for models that are sums of costs, where a negative cost has no meaning.

#include <cstddef>
#include <span>
#include <vector>

namespace muster {

inline constexpr std::size_t kMostUnknowns = 8;

struct NnlsAnswer {
  std::vector<double> x;  // None negative.
  double residual = 0;    // sqrt(sum of weight * (A x - b)^2).
};

// `a` holds the rows of A one after another, b.size() rows of `unknowns` numbers each; `weights`
// holds one number >= 0 a row, or is empty for all alike. All numbers must be finite.
//
// Every set of unknowns that may differ from zero is tried, so the answer is the true minimum,
// takes a bounded time and does not depend on a starting point. The units of the columns do not
// matter. Where columns depend on each other many x are equally good: the answer then is one with
// the fewest unknowns above zero, and among those the one that uses the earlier columns.
NnlsAnswer solve_nnls(std::span<const double> a, std::size_t unknowns, std::span<const double> b,
                      std::span<const double> weights = {});

}  // namespace muster
