#include "engine/model/loss_facts.h"

#include <cmath>
#include <cstddef>

#include "base/types/check.h"

namespace muster {

double LossFacts::at(double epoch) const {
  MUSTER_CHECK(epoch >= 0);
  if (points.empty()) return 1 / (b0 * epoch + b1) + b2;
  const auto last = static_cast<double>(points.size() - 1);
  const double position = epoch / epochs * last;
  if (position >= last) return points.back();
  const auto before = static_cast<std::size_t>(position);
  const double part = position - std::floor(position);
  return points[before] + part * (points[before + 1] - points[before]);
}

}  // namespace muster
