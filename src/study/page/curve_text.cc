#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/terminal/table.h"
#include "base/text/wording.h"
#include "study/page/curve.h"
#include "study/page/curve_frame.h"

namespace muster {
namespace {

constexpr std::size_t kColumns = 70;
constexpr int kRows = 9;  // Rows of the drawing; five more lines surround it.

// In order of importance: later kinds are drawn over earlier ones.
enum class Glyph { kBlank, kLine, kMark, kError, kPoint };

std::string_view glyph_text(Glyph glyph) {
  switch (glyph) {
    case Glyph::kLine:
      return "·";
    case Glyph::kMark:
      return "┊";
    case Glyph::kError:
      return "│";
    case Glyph::kPoint:
      return "●";
    case Glyph::kBlank:
      break;
  }
  return " ";
}

std::string_view glyph_color(Glyph glyph) {
  switch (glyph) {
    case Glyph::kLine:
      return "\x1b[36m";
    case Glyph::kMark:
      return "\x1b[33m";
    case Glyph::kError:
    case Glyph::kPoint:
      return "\x1b[32m";
    case Glyph::kBlank:
      break;
  }
  return "";
}

std::string in_color(Glyph glyph, ColorMode colors) {
  const std::string_view color = colors == ColorMode::kColor ? glyph_color(glyph) : "";
  std::string text(color);
  text += glyph_text(glyph);
  if (!color.empty()) text += "\x1b[0m";
  return text;
}

std::string line_of(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

// Height of a line at x. REQUIRES: x is within the line.
double height_at(const std::vector<CurvePlot::Spot>& line, double x) {
  std::size_t i = 1;
  while (i + 1 < line.size() && line[i].x < x) ++i;
  const CurvePlot::Spot& a = line[i - 1];
  const CurvePlot::Spot& b = line[i];
  return b.x > a.x ? a.y + (b.y - a.y) * std::clamp((x - a.x) / (b.x - a.x), 0.0, 1.0) : b.y;
}

class Canvas {
 public:
  Canvas(const CurveFrame& frame, int columns)
      : frame_(frame), columns_(columns), cells_(static_cast<std::size_t>(columns * kRows)) {}

  int column(double x) const {
    return static_cast<int>(std::lround(frame_.x.part(x) * (columns_ - 1)));
  }
  // Counted from the top.
  int row(double y) const {
    return kRows - 1 - static_cast<int>(std::lround(frame_.y.part(y) * (kRows - 1)));
  }

  void draw() {
    draw_line();
    for (const CurvePlot::Mark& mark : frame_.plot.marks) {
      for (int r = 0; r < kRows; ++r) put(column(mark.x), r, Glyph::kMark);
    }
    for (const CurvePlot::Point& point : frame_.plot.points) {
      if (point.error <= 0) continue;
      const double low = std::max(frame_.y.low, point.y - point.error);
      fill(column(point.x), row(point.y + point.error), row(low), Glyph::kError);
    }
    for (const CurvePlot::Point& point : frame_.plot.points) {
      put(column(point.x), row(point.y), Glyph::kPoint);
    }
  }

  Glyph at(int column, int row) const {
    return cells_[static_cast<std::size_t>(row * columns_ + column)];
  }

 private:
  void put(int column, int row, Glyph glyph) {
    cells_[static_cast<std::size_t>(row * columns_ + column)] = glyph;
  }
  void fill(int column, int a, int b, Glyph glyph) {
    for (int r = std::min(a, b); r <= std::max(a, b); ++r) put(column, r, glyph);
  }

  // If the line is steep, a column also fills the rows up to the line in the previous column.
  void draw_line() {
    const std::vector<CurvePlot::Spot>& line = frame_.plot.line;
    if (line.size() < 2) return;
    const int first = column(line.front().x);
    int before = row(line.front().y);
    for (int c = first; c <= column(line.back().x); ++c) {
      const double x = frame_.x.low + (frame_.x.high - frame_.x.low) * c / (columns_ - 1);
      const int here = row(height_at(line, std::clamp(x, line.front().x, line.back().x)));
      const int towards = here < before ? before - 1 : here > before ? before + 1 : here;
      fill(c, here, towards, Glyph::kLine);
      before = here;
    }
  }

  const CurveFrame& frame_;
  int columns_;
  std::vector<Glyph> cells_;
};

std::size_t label_width(const CurveAxis& axis) {
  std::size_t width = 0;
  for (const CurveAxis::Tick& tick : axis.ticks) width = std::max(width, tick.text.size());
  return width;
}

// The drawing with the y axis on its left.
std::string body(const CurveFrame& frame, const Canvas& canvas, int columns, std::size_t width,
                 ColorMode colors) {
  std::string out;
  for (int row = 0; row < kRows; ++row) {
    std::string label;
    for (const CurveAxis::Tick& tick : frame.y.ticks) {
      if (canvas.row(tick.value) == row) label = tick.text;
    }
    std::string text =
        std::string(width - label.size(), ' ') + label + (label.empty() ? " │" : " ┤");
    std::string blanks;
    for (int column = 0; column < columns; ++column) {
      const Glyph glyph = canvas.at(column, row);
      if (glyph == Glyph::kBlank) {
        blanks += ' ';
        continue;
      }
      text += blanks + in_color(glyph, colors);
      blanks.clear();
    }
    out += text + "\n";
  }
  return out;
}

// The x axis, and its numbers if there is space.
std::string foot(const CurveFrame& frame, const Canvas& canvas, int columns, std::size_t width) {
  std::vector<std::string_view> axis(static_cast<std::size_t>(columns), "─");
  std::string numbers(kColumns, ' ');
  std::size_t free_from = 0;
  for (const CurveAxis::Tick& tick : frame.x.ticks) {
    const int column = canvas.column(tick.value);
    const std::size_t middle = width + 2 + static_cast<std::size_t>(column);
    const std::size_t half = tick.text.size() / 2;
    const std::size_t begin =
        std::min(middle - std::min(middle, half), kColumns - tick.text.size());
    if (begin < free_from) continue;
    axis[static_cast<std::size_t>(column)] = "┬";
    numbers.replace(begin, tick.text.size(), tick.text);
    free_from = begin + tick.text.size() + 2;
  }
  std::string out = std::string(width, ' ') + " └";
  for (const std::string_view piece : axis) out += piece;
  return out + "\n" + line_of(numbers);
}

// The legend of the marks and, on the right, the label of x.
std::string captions(const CurvePlot& plot, ColorMode colors) {
  const std::string x_label = cut_text(printable(plot.x_label), kColumns / 2);
  std::string marks;
  for (const CurvePlot::Mark& mark : plot.marks) {
    marks += (marks.empty() ? "" : ", ") + printable(mark.text);
  }
  const std::size_t used = display_width(x_label) + 4;
  if (!marks.empty()) marks = cut_text(marks, kColumns - used);
  const std::size_t taken = marks.empty() ? 0 : display_width(marks) + 2;
  const std::string lead = marks.empty() ? "" : in_color(Glyph::kMark, colors) + " " + marks;
  return line_of(lead + std::string(kColumns - taken - display_width(x_label), ' ') + x_label);
}

}  // namespace

std::string curve_text(const CurvePlot& plot, ColorMode colors) {
  const CurveFrame frame = curve_frame(plot, 8, 4);
  std::string out;
  if (!plot.title.empty()) out += line_of(cut_text(printable(plot.title), kColumns));
  if (frame.plot.points.empty() && frame.plot.line.empty()) return out + "(no data)\n";
  if (!plot.y_label.empty()) out += line_of(cut_text(printable(plot.y_label), kColumns));
  const std::size_t width = label_width(frame.y);
  const int columns = static_cast<int>(kColumns - width - 2);
  Canvas canvas(frame, columns);
  canvas.draw();
  return out + body(frame, canvas, columns, width, colors) + foot(frame, canvas, columns, width) +
         captions(frame.plot, colors);
}

}  // namespace muster
