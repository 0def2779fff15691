#pragma once

// How a training job's loss falls, and when it will have fallen enough: Optimus' convergence curve
// l(k) = 1 / (b0 k + b1) + b2, none of them negative (Peng et al., EuroSys 2018). A scheduler fits
// it to the losses a job has reported, to estimate the epochs that are left. An epoch here is one
// pass over the training data; it has nothing to do with the epoch of a lease.

#include <span>

#include "base/types/result.h"

namespace muster {

struct LossPoint {
  double epoch = 0;  // May be a fraction.
  double loss = 0;
};

struct LossCurve {
  double b0 = 0;        // Above zero: a curve that stands still is not a curve.
  double b1 = 0;        // Zero means an infinite loss at epoch 0.
  double b2 = 0;        // What the loss falls to in the end.
  double largest = 0;   // The largest loss among the points.
  double residual = 0;  // Root of the mean squared error of the loss, weighted as in the fit.

  double at(double epoch) const { return 1 / (b0 * epoch + b1) + b2; }
};

// The curve with these coefficients. Its largest loss is the one at epoch 0.
inline LossCurve exact_loss_curve(double b0, double b1, double b2) {
  LossCurve curve{b0, b1, b2};
  curve.largest = curve.at(0);
  return curve;
}

// The curve with the least weighted sum of squared errors of the loss. As in Optimus' code, the
// points are cut into three segments of equal count and those of segment s have a standard
// deviation of 4^-s, so that the last third counts most.
//
// Points must be in order of epochs, several an epoch are allowed. Refused, which means that
// nothing can be told about the job: fewer than three different epochs, numbers that are negative
// or not finite, and losses that do not fall or of which the curve explains hardly more than their
// mean does (constant, rising, mere noise).
Result<LossCurve> fit_loss_curve(std::span<const LossPoint> points);

// When a job counts as converged. The loss falls by less than `threshold` of its largest value
// during `window` epochs. (Optimus' code compares the fall itself with 0.05; as a part of the
// largest loss, one threshold serves losses of all sizes.)
struct ConvergenceRule {
  double threshold = 0.05;
  int window = 10;
  int cap = 100;     // No job is believed to need more epochs than this.
  int unknown = 20;  // How many are left where the curve does not say.
};

// Epochs left for a job that has done `done` of them: up to the first whole epoch e >= window with
// at(e - window) - at(e) < threshold * largest, or up to the cap if that comes first. It is 0 for a
// job that is past the e of its curve, and `unknown` for one without a curve and for one that is
// past the cap and was not to be. (Optimus' code says `unknown` for all that would reach the cap: a
// job of 99 epochs would have more left than one of 101.)
double remaining_epochs(const Result<LossCurve>& curve, double done,
                        const ConvergenceRule& rule = {});

}  // namespace muster
