#pragma once

// The part that both drawings of a curve share: the shown numbers, and the axes with their ticks.

#include <string>
#include <vector>

#include "study/page/curve.h"

namespace muster {

struct CurveAxis {
  struct Tick {
    double value = 0;
    std::string text;  // "2.5", "12,000", "250k": one format per axis.
  };
  double low = 0;
  double high = 1;
  std::vector<Tick> ticks;

  double part(double value) const {
    return (value - low) / (high - low);
  }  // Position along the axis, 0 to 1.
};

struct CurveFrame {
  CurvePlot plot;  // Only valid numbers; marks from left to right.
  CurveAxis x, y;
};

// Places about `x_ticks` and `y_ticks` ticks, 1, 2 or 5 times a power of ten apart. The y axis ends
// at a tick, the x axis at the end of the curve.
CurveFrame curve_frame(const CurvePlot& plot, int x_ticks, int y_ticks);

}  // namespace muster
