#pragma once

// Optimus' convergence curve l(k) = 1 / (b0 k + b1) + b2 with non-negative coefficients (Peng et
// al., EuroSys 2018). A scheduler fits it to a job's reported losses to estimate the remaining
// training epochs. A training epoch is one iteration over the training data; it is unrelated to
// lease epochs.

#include <span>

#include "base/types/result.h"

namespace muster {

struct LossPoint {
  double epoch = 0;  // Training epoch; may be a fraction.
  double loss = 0;
};

struct LossCurve {
  double b0 = 0;       // Above zero, so the curve always falls.
  double b1 = 0;       // Zero means an infinite loss at epoch 0.
  double b2 = 0;       // Limit of the loss.
  double largest = 0;  // Largest loss among the points.
  // Weighted root mean squared error of the loss, with the weights of the fit.
  double residual = 0;

  double at(double epoch) const { return 1 / (b0 * epoch + b1) + b2; }
};

// Returns the curve with these coefficients. Its `largest` is the loss at epoch 0.
inline LossCurve exact_loss_curve(double b0, double b1, double b2) {
  LossCurve curve{b0, b1, b2};
  curve.largest = curve.at(0);
  return curve;
}

// Returns the curve with the minimum weighted sum of squared errors. As in Optimus' code, the
// points form three segments of equal size. Points of segment s have a standard deviation of 4^-s,
// so the last third has the largest weight.
//
// Points must be in order of epochs; an epoch may have several. An error means that nothing can be
// predicted for the job: fewer than three different epochs, negative or non-finite numbers, or
// losses that do not fall or that the curve explains hardly better than their mean (noise).
Result<LossCurve> fit_loss_curve(std::span<const LossPoint> points);

// A job has converged if its loss falls by less than `threshold` of its largest value in `window`
// epochs. Optimus' code compares the absolute fall with 0.05. The relative fall works for losses of
// any scale.
struct ConvergenceRule {
  double threshold = 0.05;
  int window = 10;
  int cap = 100;     // Maximum estimated epochs of any job.
  int unknown = 20;  // Estimated remaining epochs without a curve.
};

// Returns the remaining epochs of a job that has done `done`: up to the first whole epoch e >=
// window with at(e - window) - at(e) < threshold * largest, or up to the cap if that is earlier.
// Returns 0 if the job is past e. Returns `unknown` without a curve, or if the job passed a cap
// that limited it. Optimus' code returns `unknown` for all jobs that would reach the cap. There, a
// job with 99 epochs would have more epochs left than one with 101.
double remaining_epochs(const Result<LossCurve>& curve, double done,
                        const ConvergenceRule& rule = {});

}  // namespace muster
