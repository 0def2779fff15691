#pragma once

// Draws one measured curve, such as a job's speed by CPUs: points with errors, a fitted line, and
// marks. The output is text for a terminal or a standalone SVG file. (A browser draws the plots of
// a Page instead.)

#include <string>
#include <vector>

#include "base/terminal/terminal.h"

namespace muster {

// Texts may contain any bytes. NaN, infinity and numbers beyond +-1e15 are omitted.
struct CurvePlot {
  struct Point {
    double x = 0;
    double y = 0;
    double error = 0;  // The actual value is y +- error. Zero: unknown, not shown.
  };
  struct Spot {
    double x = 0;
    double y = 0;
  };
  struct Mark {
    double x = 0;
    std::string text;  // "need: 6 CPUs".
  };
  std::string title;
  std::string x_label, y_label;
  std::vector<Point> points;
  std::vector<Spot> line;  // Ascending by x.
  std::vector<Mark> marks;
};

// At most 70 columns and 14 lines, without trailing spaces. Both axes include zero.
std::string curve_text(const CurvePlot& plot, ColorMode colors);

// An image of 720 x 420 without scripts or external resources. It has no background, and its colors
// suit paper, light and dark backgrounds. The same plot gives the same bytes.
std::string curve_svg(const CurvePlot& plot);

}  // namespace muster
