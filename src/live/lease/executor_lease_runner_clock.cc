// The next time at which the lease runner must act, and its own clock for time limits. The shim
// enforces the limits. But a job of the same user can stop the shim, so the runner kills a lease
// whose shim is late.

#include <algorithm>
#include <chrono>

#include "base/os/processes.h"
#include "live/lease/executor_lease_runner.h"

namespace muster {

namespace {

constexpr std::chrono::milliseconds kTestPoll{250};
constexpr std::int64_t kShimPatienceUs = 5'000'000;  // A shim ends its lease within this time.
constexpr std::int64_t kSuspendedUs = 10'000'000;    // Longer than any wait of the runner.
constexpr std::int64_t kLimitKillAgainUs = 5'000'000;

}  // namespace

int ExecutorLeaseRunner::wait_ms() const {
  Clock::time_point next = Clock::time_point::max();
  for (const auto& [name, held] : held_) {
    if (held.stopping) next = std::min(next, held.stop_at);
    for (const Part& part : held.parts) {
      if (part.over) continue;
      if (!part.ordered || held.adopt) next = std::min(next, held.start_at);
      if (part.limits && part.up) next = std::min(next, held.start_at);
      if (part.limit_check_at == INT64_MAX) continue;
      const std::chrono::microseconds left(part.limit_check_at - boot_micros());
      next = std::min(next, Clock::now() + left);
    }
  }
  if (tests_.busy()) next = std::min(next, Clock::now() + kTestPoll);
  if (next == Clock::time_point::max()) return -1;
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(next - Clock::now()).count() + 1;
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 10'000));
}

void ExecutorLeaseRunner::begin_limit(Part& part,
                                      const std::optional<StartedFacts>& started) const {
  if (part.spec.time_limit_ms == 0) return;
  const std::int64_t now = boot_micros();
  // The start of an adopted lease is in its record. On another machine, or after a reboot, that
  // time is of another clock.
  const bool comparable = started && started->boot_id == boot_id();
  const std::int64_t since = comparable ? std::min(now, started->at.boot_us) : now;
  const std::int64_t allowed_ms = part.spec.time_limit_ms + part.spec.grace_ms;
  part.limit_check_at = since + allowed_ms * 1000 + std::min(kShimPatienceUs, overtime_.us());
}

void ExecutorLeaseRunner::enforce_limit(Held& held) {
  const std::int64_t now = boot_micros();
  for (Part& part : held.parts) {
    if (part.over || now < part.limit_check_at) continue;
    if (!part.is_late) {
      part.is_late = true;
      const std::int64_t patience = std::min(kShimPatienceUs, overtime_.us());
      // The machine was suspended, or no manager ran. The shim may have just noticed the limit.
      const bool noticed_late = now - part.limit_check_at > kSuspendedUs;
      const std::int64_t shim_done =
          noticed_late ? now + part.spec.grace_ms * 1000 + patience : now;
      part.limit_check_at = std::max(part.limit_check_at + overtime_.us() - patience, shim_done);
      continue;
    }
    held.overtime = true;
    const std::string lease = lease_name(part.spec);
    trouble_(lease + ": exceeded its time limit, and its shim did not end it; killing it");
    if (const MaybeError refusal = executor_->kill(lease)) trouble_(refusal->message);
    part.limit_check_at = now + kLimitKillAgainUs;
  }
}

// A lease that was killed for its time limit must not run again as one that was lost.
LeaseOverInput ExecutorLeaseRunner::end_of(const Held& held, LeaseOverInput over) const {
  if (!held.overtime) return over;
  if (over.fate != LeaseResult::kLost && over.fate != LeaseResult::kStopped) return over;
  over.fate = LeaseResult::kTimeLimit;
  over.words = "exceeded its time limit; its shim did not end it";
  return over;
}

}  // namespace muster
