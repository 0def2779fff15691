#pragma once

// How fast a job trains with p parameter servers and w workers: Optimus' two speed functions (Peng
// et al., EuroSys 2018), fitted to a few measured speeds. A scheduler asks it what one more worker
// would bring.
//
//   kSync:   steps a second = 1 / (t0 * batch / w + t1 + t2 * w / p + t3 * w + t4 * p)
//   kAsync:  steps a second = w / (t0 + t1 * w / p + t2 * w + t3 * p)
//
// The terms of a sum are times and so are never negative: computing (shared by the workers of a
// synchronous job), fixed, transfer between workers and parameter servers, overhead of each worker,
// overhead of each parameter server.

#include <array>
#include <span>

#include "base/types/result.h"

namespace muster {

enum class Training { kSync, kAsync };

struct SpeedPoint {
  int ps = 1;
  int workers = 1;
  double batch = 1;  // Of a whole step; means nothing to kAsync.
  double speed = 0;  // Steps a second.
};

struct SpeedModel {
  Training training = Training::kSync;
  std::array<double, 5> theta = {};  // t0 to t4; the last is 0 for kAsync.
  double residual = 0;               // Root of the mean squared relative error of the step time.

  // Above zero for ps and workers of at least 1 and batch > 0.
  double speed(int ps, int workers, double batch = 1) const;
};

// The model with the least sum of squared relative errors of the time a step takes. A job measured
// only with p = w, as Optimus does at first, leaves several terms alike: the model then predicts
// speeds for p = w, and tells nothing of others. The same goes for t0 and t1 of an unchanging w.
//
// Refused: fewer than five different settings for kSync, four for kAsync (the same one measured
// twice counts once, though both measurements are used); a speed or batch that is not above zero
// and finite; fewer than one parameter server or worker.
Result<SpeedModel> fit_speed(Training training, std::span<const SpeedPoint> points);

}  // namespace muster
