#pragma once

// What really becomes of a job's work, which only the simulator knows. Lazy: (left, since, speed),
// revised only when the speed changes.

#include <cstdint>

#include "base/types/time.h"

namespace muster {

// How a job has GPUs that others have too: from `origin` on all take turns of one slice each, and
// the beginning of each goes into switching over. A job alone has them all the time.
struct Turns {
  std::int64_t jobs = 1;
  std::int64_t ahead = 0;  // So many have their first turn before this one. Less than `jobs`.
  Instant origin;
  Duration slice;
  Duration cost;  // Less than a slice.

  // The time it really had the GPUs until `now`, and when that is to reach this much.
  Duration had(Instant now) const;
  Instant when_had(Duration time) const;
  // When it last had them, up to `now`; before `origin` if never.
  Instant last(Instant now) const;
  // The part of the time that it has them, in the long run.
  double part() const;
};

// One job's true progress. Work is time at the reference share; or, to imitate Synergy's simulator,
// whole iterations, so many a round.
class TrueProgress {
 public:
  // Continuous work.
  static TrueProgress of_work(Duration work);
  // `iterations` of `seconds` each at the reference share, credited at round ends.
  static TrueProgress of_iterations(std::int64_t iterations, double seconds, Duration round);

  // From `now` on the job runs at `speed` relative to the reference share, when it is its turn; 0
  // stops it. Turns are for continuous work only.
  void set_speed(double speed, Instant now, const Turns& turns = {});

  // When it will be done if nothing changes; never() while it stands still, or if that is past the
  // horizon.
  Instant finish() const;

  // Counts what was done up to `now`; a change of speed does too.
  void settle(Instant now);
  // Work or iterations left, as of then.
  std::int64_t left() const { return left_; }
  // What was done since `left` was that much is lost, but for whole multiples of `interval`.
  void fall_back(std::int64_t left, Duration interval);

 private:
  std::int64_t per_round() const;

  std::int64_t left_ = 0;  // Microseconds of work, or iterations.
  double iteration_ = 0;   // Seconds; 0 for continuous work.
  Duration round_;
  Instant since_;
  double speed_ = 0;
  Turns turns_;
};

}  // namespace muster
