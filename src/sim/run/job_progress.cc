#include "sim/run/job_progress.h"

#include <algorithm>
#include <cmath>

#include "base/types/saturate.h"

namespace muster {

Duration Turns::had(Instant now) const {
  const Duration since = now - origin;
  if (jobs == 1) return since;
  const std::int64_t cycle = slice.us() * jobs;
  const std::int64_t into = since.us() % cycle - slice.us() * ahead - cost.us();
  const std::int64_t whole = (slice - cost).us();
  return Duration::micros(since.us() / cycle * whole + std::clamp<std::int64_t>(into, 0, whole));
}

Instant Turns::when_had(Duration time) const {
  if (jobs == 1) return origin + time;
  if (time <= Duration()) return origin;
  const std::int64_t whole = (slice - cost).us();
  const std::int64_t turns_before = (time.us() - 1) / whole;
  const std::int64_t cycles = saturating_multiply(turns_before, slice.us() * jobs);
  const std::int64_t in_last = time.us() - turns_before * whole;
  const std::int64_t after = saturating_add(cycles, (slice * ahead).us() + cost.us() + in_last);
  if (after > (kHorizon - origin).us()) return Instant::never();
  return origin + Duration::micros(after);
}

Instant Turns::last(Instant now) const {
  if (jobs == 1) return now;
  const std::int64_t cycle = slice.us() * jobs;
  const Duration since = now - origin;
  const std::int64_t begin = since.us() / cycle * cycle + (slice * ahead).us();
  if (since.us() >= begin) return std::min(now, origin + Duration::micros(begin) + slice);
  return origin + Duration::micros(begin - cycle) + slice;
}

double Turns::part() const {
  if (jobs == 1) return 1;
  return (slice - cost).in_seconds() / (slice.in_seconds() * static_cast<double>(jobs));
}

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
  const Duration elapsed = turns_.jobs == 1 ? now - since_ : turns_.had(now) - turns_.had(since_);
  since_ = now;
  if (speed_ <= 0) return;
  if (iteration_ > 0) {
    left_ -= std::min(left_, saturating_multiply(elapsed.us() / round_.us(), per_round()));
  } else {
    left_ -= static_cast<std::int64_t>(static_cast<double>(elapsed.us()) * speed_);
  }
  left_ = std::max<std::int64_t>(left_, 0);
}

void TrueProgress::set_speed(double speed, Instant now, const Turns& turns) {
  settle(now);
  speed_ = speed;
  turns_ = turns;
}

void TrueProgress::fall_back(std::int64_t left, Duration interval) {
  const std::int64_t done = left - left_;
  left_ = left - done / interval.us() * interval.us();
}

Instant TrueProgress::when_left(std::int64_t left) const {
  if (speed_ <= 0) return Instant::never();
  if (iteration_ > 0) {
    const std::int64_t each = per_round();
    if (each <= 0) return Instant::never();
    const std::int64_t rounds =
        std::max<std::int64_t>(1, left_ / each + (left_ % each != 0 ? 1 : 0));
    if (rounds > (kHorizon - since_).us() / round_.us()) return Instant::never();
    return since_ + round_ * rounds;
  }
  const std::int64_t until = std::max<std::int64_t>(left_ - left, 0);
  const double time = std::ceil(static_cast<double>(until) / speed_);
  if (time > static_cast<double>((kHorizon - since_).us())) return Instant::never();
  if (turns_.jobs > 1) {
    const Duration more = Duration::micros(static_cast<std::int64_t>(time));
    return std::max(since_, turns_.when_had(turns_.had(since_) + more));
  }
  return since_ + Duration::micros(static_cast<std::int64_t>(time));
}

}  // namespace muster
