#pragma once

// The actual progress of a job, which only the simulator knows. It is lazy: (left, since, speed) is
// updated only when the speed changes.

#include <cstdint>

#include "base/types/time.h"

namespace muster {

// How jobs share GPUs by time slices. From `origin` on, each job gets one slice in turn, and each
// slice begins with the switching cost. A single job has the GPUs all the time.
struct Turns {
  std::int64_t jobs = 1;
  std::int64_t ahead = 0;  // Jobs with their first slice before this one. Less than `jobs`.
  Instant origin;
  Duration slice;
  Duration cost;  // Per slice, less than a slice.

  // The time that the job had the GPUs until `now`, and the time at which it will have had them for
  // `time`.
  Duration had(Instant now) const;
  Instant when_had(Duration time) const;
  // When the job last had the GPUs, up to `now`; before `origin` if never.
  Instant last(Instant now) const;
  // The long-run share of the time that the job has the GPUs.
  double part() const;
};

// The actual progress of one job. Work is time at the reference share. To imitate Synergy's
// simulator, it is a number of whole iterations per round.
class TrueProgress {
 public:
  static TrueProgress of_work(Duration work);
  // `iterations` of `seconds` each at the reference share, credited at the end of each round.
  static TrueProgress of_iterations(std::int64_t iterations, double seconds, Duration round);

  // From `now` on, the job runs at `speed` relative to the reference share, during its slices; 0
  // stops it. Slices require continuous work.
  void set_speed(double speed, Instant now, const Turns& turns = {});

  // When the job will finish if nothing changes; never() if it is stopped, or if this is beyond the
  // horizon.
  Instant finish() const { return when_left(0); }
  // The same for the time at which only this much work is left. REQUIRES: 0, or continuous work.
  Instant when_left(std::int64_t left) const;

  // Updates left() to `now`. A change of speed does so, too.
  void settle(Instant now);
  // Work or iterations left at the last update.
  std::int64_t left() const { return left_; }
  // Discards the work since left() was `left`, except whole multiples of `interval`.
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
