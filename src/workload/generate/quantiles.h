#pragma once

// A distribution given by a few quantiles, such as "half of the jobs run less than 1,586 s".
// Between quantiles the logarithm of the value is linear, because run times and gaps span six
// decades.

#include <span>
#include <vector>

namespace muster {

class QuantileCurve {
 public:
  // REQUIRES: levels ascend from 0 to 1; there is one value per level; values are above 0 and do
  // not descend.
  QuantileCurve(std::span<const double> levels, std::span<const double> values);

  // Returns the quantile at `level`. REQUIRES: 0 <= level <= 1.
  double at(double level) const;
  // Returns the mean of the distribution.
  double mean() const;

 private:
  std::vector<double> levels_;
  std::vector<double> logs_;
};

// Maps a level slightly outside 0..1 back into the range by reflection at the ends. A uniform level
// plus symmetric noise stays uniform after reflection.
double reflect(double level);

}  // namespace muster
