#include "engine/fit/spread.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/types/check.h"

namespace muster {

namespace {

bool in_use(const PsShare& share) { return share.ps > 0 || share.workers > 0; }

PsShare sum_of(std::span<const PsShare> shares) {
  PsShare sum;
  for (const PsShare& share : shares) {
    sum.ps += share.ps;
    sum.workers += share.workers;
  }
  return sum;
}

}  // namespace

std::optional<std::vector<PsShare>> spread_evenly(int ps, int workers, int nodes, int capacity) {
  MUSTER_CHECK(ps >= 0 && workers >= 0 && nodes >= 0 && capacity >= 0);
  const std::int64_t tasks = static_cast<std::int64_t>(ps) + workers;
  if (tasks > static_cast<std::int64_t>(nodes) * capacity) return std::nullopt;
  if (tasks == 0) return std::vector<PsShare>();
  const auto count = static_cast<int>((tasks + capacity - 1) / capacity);
  const PsShare each = {ps / count, workers / count};
  const int more_ps = ps % count;
  const int more_workers = workers % count;
  const bool both_fit = more_ps == 0 || more_workers == 0 || each.ps + each.workers + 2 <= capacity;
  std::vector<PsShare> shares(static_cast<std::size_t>(count), each);
  for (int i = 0; i < count; ++i) {
    PsShare& share = shares[static_cast<std::size_t>(i)];
    if (i < more_ps) ++share.ps;
    if (both_fit ? i < more_workers : i >= count - more_workers) ++share.workers;
  }
  return shares;
}

Transfers transfers(std::span<const PsShare> shares) {
  const PsShare sum = sum_of(shares);
  Transfers most;
  for (const PsShare& share : shares) {
    if (share.ps > 0) most.at_ps = std::max(most.at_ps, sum.workers - share.workers);
    if (share.workers > 0) most.at_worker = std::max(most.at_worker, sum.ps - share.ps);
  }
  return most;
}

Transfers transfer_bound(std::span<const PsShare> shares) {
  const PsShare sum = sum_of(shares);
  Transfers most;
  for (const PsShare& share : shares) {
    if (!in_use(share)) continue;
    most.at_ps = std::max(most.at_ps, sum.workers - share.workers);
    most.at_worker = std::max(most.at_worker, sum.ps - share.ps);
  }
  return most;
}

}  // namespace muster
