#include "workload/history/use_study.h"

#include <limits>
#include <numeric>

namespace muster {

void UseHistogram::add(const UseHistogram& other) {
  for (std::size_t i = 0; i < kUseBins; ++i) minutes[i] += other.minutes[i];
  sum += other.sum;
}

std::uint64_t UseHistogram::count() const {
  return std::accumulate(minutes.begin(), minutes.end(), std::uint64_t{0});
}

double UseHistogram::mean() const {
  const auto all = static_cast<double>(count());
  if (all == 0) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(sum) / all / static_cast<double>(kPercent);
}

double UseHistogram::quantile(double p) const {
  const auto all = static_cast<double>(count());
  if (all == 0) return std::numeric_limits<double>::quiet_NaN();
  double below = 0;
  for (std::size_t i = 0; i + 1 < kUseBins; ++i) {
    below += static_cast<double>(minutes[i]);
    if (below > p * all) return static_cast<double>(i);
  }
  return static_cast<double>(kUseBins - 1);
}

}  // namespace muster
