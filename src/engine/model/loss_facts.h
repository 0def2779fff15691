#pragma once

// Validation loss of a model by training epoch.

#include <vector>

namespace muster {

// Recorded losses, or the formula 1 / (b0 * e + b1) + b2 after e training epochs if none are
// recorded.
struct LossFacts {
  double b0 = 0;  // Zero: the formula never falls and the job ends without convergence.
  double b1 = 0;  // Above zero.
  double b2 = 0;
  // Losses at equal intervals from epoch 0 to `epochs`, at least two. Empty: the formula applies.
  std::vector<double> points = {};
  double epochs = 0;  // Recorded training epochs, above zero if there are points.

  // Linear between two points. After the recorded epochs, the last point. REQUIRES: epoch >= 0.
  double at(double epoch) const;
};

}  // namespace muster
