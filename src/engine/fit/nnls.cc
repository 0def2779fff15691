#include "engine/fit/nnls.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

#include "base/types/check.h"

namespace muster {

namespace {

using Column = std::vector<double>;

// A unit column depends on the earlier columns if its independent component is shorter than this.
constexpr double kDependent = 1e-10;

// A larger set of unknowns must improve the result by more than rounding errors: by kBetter of the
// squared residual plus kExact of the squared length of b.
constexpr double kBetter = 1e-12;
constexpr double kExact = 1e-26;

// Euclidean length, computed without overflow.
double length(const Column& column) {
  double largest = 0;
  for (const double value : column) largest = std::max(largest, std::fabs(value));
  if (largest == 0) return 0;
  double sum = 0;
  for (const double value : column) sum += (value / largest) * (value / largest);
  return largest * std::sqrt(sum);
}

// Scales the column to length 1, unless it is zero. Returns the original length.
double normalize(Column& column) {
  const double norm = length(column);
  if (norm > 0) {
    for (double& value : column) value /= norm;
  }
  return norm;
}

// Column j of A with each row scaled by the root of its weight.
Column weighted_column(std::span<const double> a, std::size_t stride, std::size_t j,
                       std::span<const double> roots) {
  Column column(roots.size());
  for (std::size_t i = 0; i < roots.size(); ++i) {
    column[i] = a[i * stride + j] * roots[i];
    MUSTER_CHECK(std::isfinite(column[i]));
  }
  return column;
}

// One Householder reflection of the rows from `first` on. `square` is the squared length of
// `mirror`.
void reflect(Column& target, const Column& mirror, double square, std::size_t first) {
  double dot = 0;
  for (std::size_t i = first; i < target.size(); ++i) dot += mirror[i] * target[i];
  const double factor = 2 * dot / square;
  for (std::size_t i = first; i < target.size(); ++i) target[i] -= factor * mirror[i];
}

struct Attempt {
  bool independent = false;
  std::vector<double> x;
  double square = 0;  // Squared residual.
};

// Least squares by Householder QR; all columns and b have length 1.
Attempt least_squares(std::vector<Column> columns, Column b) {
  Attempt attempt;
  const std::size_t count = columns.size();
  const std::size_t rows = b.size();
  if (count > rows) return attempt;
  std::vector<double> diagonal(count);
  for (std::size_t j = 0; j < count; ++j) {
    Column mirror = columns[j];
    std::fill_n(mirror.begin(), j, 0.0);
    const double norm = length(mirror);
    if (norm < kDependent) return attempt;
    diagonal[j] = mirror[j] > 0 ? -norm : norm;  // This sign avoids cancellation.
    mirror[j] -= diagonal[j];
    double square = 0;
    for (std::size_t i = j; i < rows; ++i) square += mirror[i] * mirror[i];
    for (std::size_t other = j + 1; other < count; ++other) {
      reflect(columns[other], mirror, square, j);
    }
    reflect(b, mirror, square, j);
  }
  attempt.independent = true;
  attempt.x.resize(count);
  for (std::size_t j = count; j-- > 0;) {
    double value = b[j];
    for (std::size_t k = j + 1; k < count; ++k) value -= columns[k][j] * attempt.x[k];
    attempt.x[j] = value / diagonal[j];
  }
  for (std::size_t i = count; i < rows; ++i) attempt.square += b[i] * b[i];
  return attempt;
}

// All non-empty sets of unknowns as bit masks, small sets first.
std::vector<std::uint32_t> sets_by_size(std::size_t unknowns) {
  std::vector<std::uint32_t> sets;
  for (std::uint32_t set = 1; set < (1u << unknowns); ++set) sets.push_back(set);
  std::stable_sort(sets.begin(), sets.end(), [](std::uint32_t left, std::uint32_t right) {
    return std::popcount(left) < std::popcount(right);
  });
  return sets;
}

}  // namespace

NnlsAnswer solve_nnls(std::span<const double> a, std::size_t unknowns, std::span<const double> b,
                      std::span<const double> weights) {
  MUSTER_CHECK(unknowns <= kMaxUnknowns);
  MUSTER_CHECK(a.size() == unknowns * b.size());
  MUSTER_CHECK(weights.empty() || weights.size() == b.size());
  std::vector<double> roots(b.size(), 1.0);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    MUSTER_CHECK(weights[i] >= 0);
    roots[i] = std::sqrt(weights[i]);
  }
  NnlsAnswer answer{std::vector<double>(unknowns, 0.0), 0};
  Column target = weighted_column(b, 1, 0, roots);
  const double target_norm = normalize(target);
  std::vector<Column> columns;
  std::vector<double> norms;
  for (std::size_t j = 0; j < unknowns; ++j) {
    columns.push_back(weighted_column(a, unknowns, j, roots));
    norms.push_back(normalize(columns.back()));
  }
  if (target_norm == 0) return answer;

  // The best x has a set of independent columns whose unconstrained least-squares solution is x: if
  // the columns were dependent, one could be replaced by the others. So trying all sets finds it.
  double best = 1.0;
  for (const std::uint32_t set : sets_by_size(unknowns)) {
    std::vector<Column> chosen;
    std::vector<std::size_t> index;
    for (std::size_t j = 0; j < unknowns; ++j) {
      if ((set >> j & 1u) == 0) continue;
      chosen.push_back(columns[j]);
      index.push_back(j);
    }
    const Attempt attempt = least_squares(std::move(chosen), target);
    if (!attempt.independent || attempt.square >= best * (1 - kBetter) - kExact) continue;
    if (std::any_of(attempt.x.begin(), attempt.x.end(), [](double x) { return x < 0; })) continue;
    best = attempt.square;
    std::fill(answer.x.begin(), answer.x.end(), 0.0);
    for (std::size_t k = 0; k < index.size(); ++k) {
      answer.x[index[k]] = attempt.x[k] * (target_norm / norms[index[k]]);
    }
  }
  answer.residual = std::sqrt(best) * target_norm;
  return answer;
}

}  // namespace muster
