#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/terminal/table.h"
#include "base/text/wording.h"
#include "study/page/curve.h"
#include "study/page/curve_frame.h"
#include "study/page/escape.h"

namespace muster {
namespace {

constexpr double kWidth = 720, kHeight = 420;
constexpr double kRight = kWidth - 26, kBottom = kHeight - 58;
constexpr double kLetter = 7.1;  // Approximate width of a letter at 13 px; fonts differ.
constexpr double kMarkLine = 18;

// Middle tones, readable on white and on black. The fitted line and the measured points use about
// the first two colors of a page's plots.
constexpr std::string_view kStyle =
    "text{font:13px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;"
    "fill:#727d8b}"
    ".title{font-size:17px;font-weight:600}"
    ".grid{stroke:#808b99;stroke-opacity:.22}"
    ".axis{stroke:#808b99}"
    ".fit{fill:none;stroke:#2f8fd8;stroke-width:2.4;stroke-linejoin:round;stroke-linecap:round}"
    ".error{stroke:#de6a1b;stroke-width:1.5;fill:none}"
    ".dot{fill:#de6a1b}"
    ".mark{stroke:#22a179;stroke-width:1.6;stroke-dasharray:5 4}"
    ".said{fill:#22a179;font-weight:600}"
    ".end{text-anchor:end}.middle{text-anchor:middle}";

double text_pixels(std::string_view safe) {
  return static_cast<double>(display_width(safe)) * kLetter;
}

class SvgWriter {
 public:
  explicit SvgWriter(const CurveFrame& frame) : frame_(frame) {
    std::size_t widest = 0;
    for (const CurveAxis::Tick& tick : frame.y.ticks) widest = std::max(widest, tick.text.size());
    left_ = 26 + static_cast<double>(widest) * kLetter;
    top_ = 74 + kMarkLine * static_cast<double>(mark_rows());
  }

  std::string write() && {
    head();
    if (frame_.plot.points.empty() && frame_.plot.line.empty()) {
      put("<text class=\"middle\" x=\"{:.0f}\" y=\"{:.0f}\">Nothing to show</text>\n", kWidth / 2,
          kHeight / 2);
    } else {
      axes();
      marks();
      fit();
      for (const CurvePlot::Point& point : frame_.plot.points) draw_point(point);
    }
    put("</svg>\n");
    return std::move(out_);
  }

 private:
  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  double x(double value) const { return left_ + frame_.x.part(value) * (kRight - left_); }
  double y(double value) const { return kBottom - frame_.y.part(value) * (kBottom - top_); }

  void head() {
    const CurvePlot& plot = frame_.plot;
    const std::string title = markup_escaped(cut_text(printable(plot.title), 62));
    put("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\">\n",
        kWidth, kHeight);
    put("<title>{}</title>\n<style>{}</style>\n", title, kStyle);
    put("<text class=\"title\" x=\"16\" y=\"28\">{}</text>\n", title);
    put("<text x=\"16\" y=\"54\">{}</text>\n",
        markup_escaped(cut_text(printable(plot.y_label), 60)));
    put("<text class=\"end\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", kRight, kHeight - 14,
        markup_escaped(cut_text(printable(plot.x_label), 80)));
    if (!plot.points.empty() && plot.line.size() > 1) legend();
  }

  void legend() {
    const double at = kRight - 150;
    put("<circle class=\"dot\" cx=\"{:.1f}\" cy=\"50\" r=\"4.2\"/>"
        "<text x=\"{:.1f}\" y=\"54\">measured</text>\n",
        at, at + 10);
    put("<path class=\"fit\" d=\"M{:.1f},50h20\"/><text x=\"{:.1f}\" y=\"54\">fitted</text>\n",
        at + 86, at + 113);
  }

  void axes() {
    for (const CurveAxis::Tick& tick : frame_.y.ticks) {
      put("<path class=\"{}\" d=\"M{:.1f},{:.1f}H{:.1f}\"/>"
          "<text class=\"end\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
          tick.value == 0 ? "axis" : "grid", left_, y(tick.value), kRight, left_ - 9,
          y(tick.value) + 4.5, tick.text);
    }
    for (const CurveAxis::Tick& tick : frame_.x.ticks) {
      put("<path class=\"axis\" d=\"M{0:.1f},{1:.1f}v5\"/>"
          "<text class=\"middle\" x=\"{0:.1f}\" y=\"{2:.1f}\">{3}</text>\n",
          x(tick.value), kBottom, kBottom + 20, tick.text);
    }
  }

  // The label of each mark is above the drawing. Labels further left are higher, so that the lines
  // of the next marks do not cross them.
  std::size_t mark_rows() const { return std::min<std::size_t>(frame_.plot.marks.size(), 3); }

  void marks() {
    std::size_t row = mark_rows();
    for (const CurvePlot::Mark& mark : frame_.plot.marks) {
      row = (row + mark_rows() - 1) % mark_rows();
      const double at = x(mark.x);
      const double line = top_ - 10 - kMarkLine * static_cast<double>(row);
      const std::string text = cut_text(printable(mark.text), 44);
      const bool fits = at + 6 + text_pixels(text) <= kWidth - 4;
      put("<path class=\"mark\" d=\"M{:.1f},{:.1f}V{:.1f}\"/>", at, line - 10, kBottom);
      put("<text class=\"said{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", fits ? "" : " end",
          fits ? at + 6 : at - 6, line, markup_escaped(text));
    }
  }

  void fit() {
    if (frame_.plot.line.size() < 2) return;
    put("<path class=\"fit\" d=\"");
    char move = 'M';
    for (const CurvePlot::Spot& spot : frame_.plot.line) {
      put("{}{:.1f},{:.1f}", move, x(spot.x), y(spot.y));
      move = 'L';
    }
    put("\"/>\n");
  }

  void draw_point(const CurvePlot::Point& point) {
    if (point.error > 0) {
      const double low = std::max(frame_.y.low, point.y - point.error);
      put("<path class=\"error\" d=\"M{0:.1f},{1:.1f}h8m-4,0V{2:.1f}m-4,0h8\"/>\n", x(point.x) - 4,
          y(point.y + point.error), y(low));
    }
    put("<circle class=\"dot\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4.2\"/>\n", x(point.x), y(point.y));
  }

  const CurveFrame& frame_;
  double left_ = 0, top_ = 0;
  std::string out_;
};

}  // namespace

std::string curve_svg(const CurvePlot& plot) {
  const CurveFrame frame = curve_frame(plot, 10, 7);
  return SvgWriter(frame).write();
}

}  // namespace muster
