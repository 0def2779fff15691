#include "sim/truth.h"

#include <algorithm>
#include <cmath>

#include "base/saturate.h"

namespace muster {

TrueProgress TrueProgress::of_work(Duration work) {
  TrueProgress progress;
  progress.left_ = work.us();
  return progress;
}

TrueProgress TrueProgress::of_iterations(std::int64_t iterations, double seconds, Duration round) {
  TrueProgress progress;
  progress.left_ = iterations;
  progress.iteration_ = seconds;
  progress.round_ = round;
  return progress;
}

std::int64_t TrueProgress::per_round() const {
  const double each = iteration_ / speed_;
  return static_cast<std::int64_t>(std::floor(round_.in_seconds() / each));
}

void TrueProgress::settle(Instant now) {
  const Duration elapsed = now - since_;
  since_ = now;
  if (speed_ <= 0) return;
  if (iteration_ > 0) {
    left_ -= std::min(left_, saturating_multiply(elapsed.us() / round_.us(), per_round()));
  } else {
    left_ -= static_cast<std::int64_t>(static_cast<double>(elapsed.us()) * speed_);
  }
  left_ = std::max<std::int64_t>(left_, 0);
}

void TrueProgress::set_speed(double speed, Instant now) {
  settle(now);
  speed_ = speed;
}

void TrueProgress::fall_back(std::int64_t left, Duration interval) {
  const std::int64_t done = left - left_;
  left_ = left - done / interval.us() * interval.us();
}

Instant TrueProgress::finish() const {
  if (speed_ <= 0) return Instant::never();
  if (iteration_ > 0) {
    const std::int64_t each = per_round();
    if (each <= 0) return Instant::never();
    const std::int64_t rounds =
        std::max<std::int64_t>(1, left_ / each + (left_ % each != 0 ? 1 : 0));
    if (rounds > (kHorizon - since_).us() / round_.us()) return Instant::never();
    return since_ + round_ * rounds;
  }
  const double time = std::ceil(static_cast<double>(left_) / speed_);
  if (time > static_cast<double>((kHorizon - since_).us())) return Instant::never();
  return since_ + Duration::micros(static_cast<std::int64_t>(time));
}

}  // namespace muster
