#pragma once

// What really becomes of a job's work, which only the simulator knows. Lazy: (left, since, speed),
// revised only when the speed changes.

#include <cstdint>

#include "base/time.h"

namespace muster {

// One job's true progress. Work is time at the reference share; or, to imitate Synergy's simulator,
// whole iterations, so many a round.
class TrueProgress {
 public:
  // Continuous work.
  static TrueProgress of_work(Duration work);
  // `iterations` of `seconds` each at the reference share, credited at round ends.
  static TrueProgress of_iterations(std::int64_t iterations, double seconds, Duration round);

  // From `now` on the job runs at `speed` relative to the reference share; 0 stops it.
  void set_speed(double speed, Instant now);

  // When it will be done if nothing changes; never() while it stands still, or if that is past the
  // horizon.
  Instant finish() const;

  // Work or iterations left, as of the last change of speed.
  std::int64_t left() const { return left_; }
  // What was done since `left` was that much is lost, but for whole multiples of `interval`.
  void fall_back(std::int64_t left, Duration interval);

 private:
  std::int64_t per_round() const;
  void settle(Instant now);

  std::int64_t left_ = 0;  // Microseconds of work, or iterations.
  double iteration_ = 0;   // Seconds; 0 for continuous work.
  Duration round_;
  Instant since_;
  double speed_ = 0;
};

}  // namespace muster
