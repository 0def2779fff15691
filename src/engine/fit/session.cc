#include "engine/fit/session.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/types/check.h"

namespace muster {

Session::Session(SessionOptions options, SpeedCurve known)
    : options_(options), meter_(options.meter), curve_(std::move(known)), cpu_milli_(options.full) {
  MUSTER_CHECK(options_.full > 0 && options_.least > 0);
}

void Session::begin(Duration now) {
  since_ = now;
  meter_.begin(now);
}

void Session::end(std::optional<std::string> trouble) {
  over_ = true;
  trouble_ = std::move(trouble);
}

bool Session::look(Duration now) {
  if (over_) return false;
  const Duration last_report = meter_.last_word().value_or(since_);
  if (!meter_.known(now)) {
    // Even with a small budget, one point gets enough time.
    const Duration most = std::max(options_.budget, options_.meter.most + options_.meter.settle);
    if (now - last_report < options_.patience && now - since_ < most) return false;
    end(now - last_report >= options_.patience
            ? fmt::format("the job has reported no progress for {:.0f} s",
                          options_.patience.in_seconds())
            : fmt::format("the job reports too rarely: its speed was still unknown after {:.0f} s",
                          most.in_seconds()));
    return true;
  }
  const Rate rate = *meter_.rate();
  measured_ = measured_ + (now - since_);
  curve_.add({cpu_milli_, rate.steps_per_second, rate.error});
  const std::optional<std::int64_t> next =
      curve_.next(options_.full, options_.least, options_.tolerance);
  if (!next || curve_.points().size() >= static_cast<std::size_t>(options_.most_points) ||
      measured_ >= options_.budget) {
    end(std::nullopt);
    return true;
  }
  cpu_milli_ = *next;
  begin(now);
  return true;
}

}  // namespace muster
