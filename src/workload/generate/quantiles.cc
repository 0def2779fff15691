#include "workload/generate/quantiles.h"

#include <algorithm>
#include <cstddef>

#include "base/types/check.h"
#include "base/types/random.h"

namespace muster {

QuantileCurve::QuantileCurve(std::span<const double> levels, std::span<const double> values)
    : levels_(levels.begin(), levels.end()) {
  MUSTER_CHECK(levels.size() >= 2 && levels.size() == values.size());
  MUSTER_CHECK(levels.front() == 0 && levels.back() == 1);
  for (std::size_t i = 0; i < levels.size(); ++i) {
    MUSTER_CHECK(values[i] > 0);
    MUSTER_CHECK(i == 0 || (levels[i] > levels[i - 1] && values[i] >= values[i - 1]));
    logs_.push_back(portable_log(values[i]));
  }
}

double QuantileCurve::at(double level) const {
  MUSTER_CHECK(level >= 0 && level <= 1);
  const auto above = std::upper_bound(levels_.begin() + 1, levels_.end() - 1, level);
  const auto i = static_cast<std::size_t>(above - levels_.begin());
  const double part = (level - levels_[i - 1]) / (levels_[i] - levels_[i - 1]);
  return portable_exp(logs_[i - 1] + part * (logs_[i] - logs_[i - 1]));
}

double QuantileCurve::mean() const {
  double sum = 0;
  for (std::size_t i = 1; i < levels_.size(); ++i) {
    const double low = portable_exp(logs_[i - 1]);
    const double rise = logs_[i] - logs_[i - 1];
    const double middle = rise > 0 ? (portable_exp(logs_[i]) - low) / rise : low;
    sum += (levels_[i] - levels_[i - 1]) * middle;
  }
  return sum;
}

double reflect(double level) {
  if (level < 0) level = -level;
  return level > 1 ? 2 - level : level;
}

}  // namespace muster
