#include "workload/generate/balanced_sampler.h"

#include <algorithm>
#include <utility>

#include "base/types/check.h"

namespace muster {

BalancedSampler::BalancedSampler(std::vector<Kind> kinds, double slack)
    : kinds_(std::move(kinds)), given_(kinds_.size(), 0), slack_(slack) {
  MUSTER_CHECK(slack > 0);
  double sum = 0;
  for (const Kind& kind : kinds_) {
    MUSTER_CHECK(kind.share >= 0 && kind.lot > 0);
    sum += kind.share;
  }
  MUSTER_CHECK(sum > 0);
  for (Kind& kind : kinds_) kind.share /= sum;
}

double BalancedSampler::weight(std::size_t kind, std::span<const double> liking) const {
  // The missing jobs of all kinds add up to the slack, so at least one kind is always behind.
  const double missing = kinds_[kind].share * (total_ + slack_) - given_[kind];
  const double factor = liking.empty() ? 1 : liking[kind];
  return std::max(0.0, missing) / kinds_[kind].lot * factor;
}

std::size_t BalancedSampler::draw(Random& random, std::span<const double> liking) const {
  MUSTER_CHECK(liking.empty() || liking.size() == kinds_.size());
  double sum = 0;
  for (std::size_t i = 0; i < kinds_.size(); ++i) sum += weight(i, liking);
  double left = random.uniform() * sum;
  std::size_t last = 0;
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    const double own = weight(i, liking);
    if (own <= 0) continue;
    if (left < own) return i;
    left -= own;
    last = i;
  }
  return last;  // Only after a rounding error.
}

void BalancedSampler::count(std::size_t kind, double jobs) {
  given_[kind] += jobs;
  total_ += jobs;
}

double BalancedSampler::mean_lot() const {
  double draws = 0;
  for (const Kind& kind : kinds_) draws += kind.share / kind.lot;
  return 1 / draws;
}

}  // namespace muster
