#pragma once

// A distribution written down as a few quantiles, such as "half of the jobs run less than 1,586 s".
// Between them the logarithm of the value is linear: run times and gaps span six decades.

#include <span>
#include <vector>

namespace muster {

class QuantileCurve {
 public:
  // Levels ascend from 0 to 1. There is a value for each, above zero and never less than the last.
  QuantileCurve(std::span<const double> levels, std::span<const double> values);

  // The value that a part `level` of all does not exceed; 0 <= level <= 1.
  double at(double level) const;
  // Of at(U), for U uniform between 0 and 1.
  double mean() const;

 private:
  std::vector<double> levels_;
  std::vector<double> logs_;
};

// Back into 0..1 as by a mirror at either end. A uniform level that is moved a little, as often up
// as down, and reflected is uniform again.
double reflect(double level);

}  // namespace muster
