#include "exec/shim/throttle.h"

#include <algorithm>

namespace muster {

Throttle::Step Throttle::step(std::int64_t now_us, double used_cpu_s) {
  const double used_us = std::max(0.0, used_cpu_s - used_before_) * 1e6;
  used_before_ = std::max(used_before_, used_cpu_s);
  owed_us_ += used_us;
  if (running_ && now_us > since_) {
    const double seen =
        (used_before_ - used_at_since_) * 1e6 / static_cast<double>(now_us - since_);
    busy_ = 0.7 * busy_ + 0.3 * seen;
  }
  const double share_us = static_cast<double>(kPeriodUs) * static_cast<double>(milli_) / 1000;
  if (running_ && now_us < period_end_) {  // The run time has ended.
    running_ = false;
    return {.run = false, .next_us = period_end_};
  }
  // A new period. Unused time is kept for one period only, so that a job cannot save it up.
  owed_us_ = std::max(owed_us_ - share_us, -2 * share_us);
  period_end_ = now_us + kPeriodUs;
  if (owed_us_ >= 0) {  // Above the limit: pause for the whole period.
    running_ = false;
    return {.run = false, .next_us = period_end_};
  }
  running_ = true;
  since_ = now_us;
  used_at_since_ = used_before_;
  const double run_us = -owed_us_ / std::max(busy_, 0.01);
  if (run_us >= static_cast<double>(kPeriodUs)) return {.run = true, .next_us = period_end_};
  // A shorter run time is not worth the signals. Later periods compensate for it.
  const auto part = std::max<std::int64_t>(static_cast<std::int64_t>(run_us), 2000);
  return {.run = true, .next_us = now_us + part};
}

}  // namespace muster
