#pragma once

// Predicts the remaining run time of a job from its progress reports: by steps if it reports a
// total, otherwise by its loss, assuming that it ends at convergence (loss_curve.h). Reports are
// untrusted: impossible or insufficient numbers return an Error. Its message is about the job and
// for its user ("the job has reported no loss and no total").

#include <cstdint>
#include <optional>
#include <span>

#include "base/types/result.h"
#include "engine/fit/loss_curve.h"

namespace muster {

// Progress of a job after a given run time.
struct PacePoint {
  double seconds = 0;       // Run time; time without a lease does not count.
  double at = 0;            // Steps or training epochs done.
  std::uint32_t lease = 0;  // Gaps between leases do not count for the pace.
};

// Reports of one job; `steps` and `epochs` are in order of seconds.
struct JobReports {
  std::span<const PacePoint> steps = {};
  std::span<const PacePoint> epochs = {};  // Training epochs.
  std::span<const LossPoint> losses = {};  // In order of training epochs.
  std::optional<double> total = {};        // Total steps of the job.
};

struct Remaining {
  enum class By : std::uint8_t { kSteps, kLoss };
  double seconds = 0;  // From the last point.
  double low = 0;      // Lower end of the 80% interval.
  double high = 0;     // Upper end of the 80% interval.
  By by = By::kSteps;
  double done = 0;  // Steps or epochs done, depending on `by`.
  double end = 0;   // Predicted steps or epochs at the end.
};

// The pace is a weighted mean over stretches of similar length, with more weight on recent ones. A
// stretch that is more than three times slower or faster than both neighbors is clamped. The
// interval depends on the variation of the stretches and grows with the horizon. For losses it
// comes from curves refitted to randomly perturbed points. The seed is fixed, so equal input gives
// equal results.
Result<Remaining> predict_remaining(const JobReports& told, const ConvergenceRule& rule = {});

}  // namespace muster
