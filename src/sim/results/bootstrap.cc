#include "sim/results/bootstrap.h"

#include <algorithm>
#include <vector>

#include "base/types/check.h"
#include "base/types/random.h"

namespace muster {

namespace {

constexpr std::size_t kResamplings = 2000;

}  // namespace

Interval bootstrap_mean(std::span<const double> values, std::uint64_t seed) {
  MUSTER_CHECK(!values.empty());
  const auto count = static_cast<double>(values.size());
  double sum = 0;
  for (const double value : values) sum += value;
  Interval interval;
  interval.mean = interval.low = interval.high = sum / count;
  if (values.size() == 1) return interval;
  Random random = Random(seed).fork("bootstrap");
  std::vector<double> means(kResamplings);
  for (double& mean : means) {
    double total = 0;
    for (std::size_t i = 0; i < values.size(); ++i) total += values[random.below(values.size())];
    mean = total / count;
  }
  std::sort(means.begin(), means.end());
  interval.low = means[kResamplings / 40];
  interval.high = means[kResamplings - 1 - kResamplings / 40];
  return interval;
}

}  // namespace muster
