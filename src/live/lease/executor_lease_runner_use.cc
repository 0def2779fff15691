// Samples the utilization of leases, for display.

#include <unistd.h>

#include <chrono>
#include <utility>

#include "base/types/check.h"
#include "live/lease/executor_lease_runner.h"

namespace muster {

namespace {

constexpr std::chrono::seconds kUseEvery{5};

}  // namespace

std::shared_ptr<const UseSample> ExecutorLeaseRunner::use() {
  const std::lock_guard lock(mutex_);
  if (!use_wanted_ && use_ && Clock::now() - use_at_ >= kUseEvery) {
    use_wanted_ = true;
    const std::uint64_t one = 1;
    MUSTER_CHECK(::write(wake_.get(), &one, sizeof one) == sizeof one);
  }
  // Older samples are from before the previous request.
  if (use_ && Clock::now() - use_at_ > UtilizationSampler::kHolds) {
    return std::make_shared<const UseSample>(forgotten(*use_));
  }
  return use_;
}

void ExecutorLeaseRunner::look_at_use() {
  const std::optional<MachineUse> seen = executor_->use();
  if (!seen) return;
  const Clock::time_point now = Clock::now();
  auto fresh = std::make_shared<const UseSample>(use_watch_.look(*seen, now));
  const std::lock_guard lock(mutex_);
  use_ = std::move(fresh);
  use_at_ = now;
}

}  // namespace muster
