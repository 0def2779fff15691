#pragma once

// One measured curve for people, such as a job's speed by CPUs: points with their errors, the line
// fitted to them, and places along it that matter. As text for a terminal, and as an SVG file that
// stands on its own. (The plots of a Page are another thing: a browser draws them.)

#include <string>
#include <vector>

#include "base/terminal/terminal.h"

namespace muster {

// Texts may hold any bytes. Numbers that are none, or beyond 1e15 either way, are left out.
struct CurvePlot {
  struct Point {
    double x = 0;
    double y = 0;
    double error = 0;  // The truth is within this much of y; zero: not known, and not shown.
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

// At most 70 columns and 14 lines, without blanks at their ends. Both axes include zero.
std::string curve_text(const CurvePlot& plot, Ink ink);

// 720 by 420. Fetches nothing, runs nothing; its colors are for paper, light and dark backgrounds
// alike, and it has none of its own. The same plot gives the same bytes.
std::string curve_svg(const CurvePlot& plot);

}  // namespace muster
