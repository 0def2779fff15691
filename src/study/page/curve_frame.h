#pragma once

// What both drawings of a curve share: which numbers are shown, how far the axes go, and where
// their ticks are.

#include <string>
#include <vector>

#include "study/page/curve.h"

namespace muster {

struct CurveAxis {
  struct Tick {
    double value = 0;
    std::string text;  // "2.5", "12,000", "250k": all of an axis alike.
  };
  double low = 0;
  double high = 1;
  std::vector<Tick> ticks;

  double part(double value) const { return (value - low) / (high - low); }  // 0 to 1 along it.
};

struct CurveFrame {
  CurvePlot plot;  // Without the numbers that are none; marks from left to right.
  CurveAxis x, y;
};

// About so many ticks, 1, 2 or 5 times a power of ten apart. y ends at a tick, x where the curve
// does.
CurveFrame curve_frame(const CurvePlot& plot, int x_ticks, int y_ticks);

}  // namespace muster
