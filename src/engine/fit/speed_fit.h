#pragma once

// Optimus' two speed functions for p parameter servers and w workers (Peng et al., EuroSys 2018),
// fitted to a few measured speeds. A scheduler uses them to predict the gain of one more worker.
//
//   kSync:   steps per second = 1 / (t0 * batch / w + t1 + t2 * w / p + t3 * w + t4 * p)
//   kAsync:  steps per second = w / (t0 + t1 * w / p + t2 * w + t3 * p)
//
// All terms are times and never negative: compute time (divided among the workers of a synchronous
// job), fixed time, transfers between workers and parameter servers, overhead per worker, and
// overhead per parameter server.

#include <array>
#include <span>

#include "base/types/result.h"

namespace muster {

enum class Training { kSync, kAsync };

struct SpeedPoint {
  int ps = 1;
  int workers = 1;
  double batch = 1;  // Global batch size; ignored for kAsync.
  double speed = 0;  // Steps per second.
};

struct SpeedModel {
  Training training = Training::kSync;
  std::array<double, 5> theta = {};  // t0 to t4; t4 is 0 for kAsync.
  double residual = 0;               // Root mean squared relative error of the step time.

  // Returns a positive speed. Requires ps >= 1, workers >= 1 and batch > 0.
  double speed(int ps, int workers, double batch = 1) const;
};

// Returns the model with the minimum sum of squared relative errors of the step time. With points
// only at p = w, as Optimus measures first, some terms cannot be separated: the model is then valid
// only for p = w. The same applies to t0 and t1 if w is constant.
//
// Fails with fewer than five different settings for kSync or four for kAsync (a repeated setting
// counts once, but all points are used). Also fails for a speed or batch that is not positive and
// finite, and for less than one parameter server or worker.
Result<SpeedModel> fit_speed(Training training, std::span<const SpeedPoint> points);

}  // namespace muster
