#pragma once

// How long a running job still takes, by what it has said of itself: by its steps where it says how
// many they will be, otherwise by its loss, which Optimus expects to end when it has converged
// (loss_curve.h). Nothing of the job is trusted: numbers that cannot be are an Error, as is what
// does not suffice, in a sentence about the job for its user ("it has reported no loss and no
// total").

#include <cstdint>
#include <optional>
#include <span>

#include "base/types/result.h"
#include "engine/fit/loss_curve.h"

namespace muster {

// How far a job was when it had run for so long.
struct PacePoint {
  double seconds = 0;       // Of running; time in which it had no lease does not count.
  double at = 0;            // Steps done, or passes over its data.
  std::uint32_t lease = 0;  // Pauses between two say nothing of its pace.
};

// In order of seconds each.
struct JobTold {
  std::span<const PacePoint> steps = {};
  std::span<const PacePoint> epochs = {};  // Passes over its data.
  std::span<const LossPoint> losses = {};  // In order of epochs.
  std::optional<double> total = {};        // Steps of the whole job.
};

struct Remaining {
  enum class By : std::uint8_t { kSteps, kLoss };
  double seconds = 0;  // From the last point on.
  double low = 0;      // In eight of ten cases it is not less than this,
  double high = 0;     // nor more than that.
  By by = By::kSteps;
  double done = 0;  // Steps or epochs, as `by` says, so far
  double end = 0;   // and when it ends.
};

// Its pace is the mean over stretches of about equal length, the latest counting most; of a stretch
// that took three times as long as both beside it, or a third, no more is believed. The band comes
// from how the stretches differ, and grows with how far ahead it looks compared with what is known.
// By the loss it comes from curves fitted again to points as far off the curve as the real ones
// were, drawn with a seed of its own: the same points always give the same answer.
Result<Remaining> predict_remaining(const JobTold& told, const ConvergenceRule& rule = {});

}  // namespace muster
