#include "study/page/plot_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/terminal/table.h"
#include "base/text/wording.h"
#include "study/page/curve_frame.h"
#include "study/page/escape.h"

namespace muster {

namespace {

class PlotWriter {
 public:
  explicit PlotWriter(const Plot& plot)
      : plot_(plot), frame_(curve_frame(all_points(plot), 10, 7)) {}

  std::string write() && {
    head();
    axes();
    for (std::size_t i = 0; i < plot_.series.size(); ++i) {
      legend(i);
      if (plot_.kind == Plot::Kind::kBars) {
        bars(i);
      } else {
        line(i);
      }
    }
    put("</svg>\n");
    return std::move(out_);
  }

 private:
  static constexpr double kWidth = 720, kHeight = 420;
  static constexpr double kLeft = 70, kRight = kWidth - 26, kTop = 84, kBottom = kHeight - 58;
  static constexpr std::array<std::string_view, 6> kColors = {"#2f8fd8", "#de6a1b", "#22a179",
                                                              "#a463c7", "#c94f6d", "#808b99"};
  static constexpr std::string_view kStyle =
      "text{font:13px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;"
      "fill:#727d8b}.title{font-size:17px;font-weight:600}.grid{stroke:#808b99;stroke-opacity:.22}"
      ".axis{stroke:#808b99}.end{text-anchor:end}.middle{text-anchor:middle}"
      ".line{fill:none;stroke-width:2.4;stroke-linejoin:round}";

  // The axes must span the points of all series. Bars stand at 0, 1, 2...
  static CurvePlot all_points(const Plot& plot) {
    CurvePlot all;
    for (const Series& series : plot.series) {
      for (std::size_t i = 0; i < series.y.size(); ++i) {
        const double x = plot.kind == Plot::Kind::kBars ? static_cast<double>(i) : series.x[i];
        if (std::isfinite(series.y[i])) all.points.push_back({x, series.y[i], 0});
      }
    }
    return all;
  }

  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }
  static std::string safe(const std::string& text, std::size_t width) {
    return markup_escaped(cut_text(printable(text), width));
  }
  static std::string_view color(std::size_t i) { return kColors[i % kColors.size()]; }

  double x(double value) const { return kLeft + frame_.x.part(value) * (kRight - kLeft); }
  double y(double value) const { return kBottom - frame_.y.part(value) * (kBottom - kTop); }

  void head() {
    put("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\">\n",
        kWidth, kHeight);
    put("<title>{0}</title>\n<style>{1}</style>\n<text class=\"title\" x=\"16\" "
        "y=\"28\">{0}</text>\n",
        safe(plot_.title, 72), kStyle);
    put("<text x=\"16\" y=\"72\">{}</text>\n", safe(plot_.y_label, 60));
    put("<text class=\"end\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", kRight, kHeight - 14,
        safe(plot_.x_label, 80));
  }

  void axes() {
    for (const CurveAxis::Tick& tick : frame_.y.ticks) {
      put("<path class=\"{}\" d=\"M{:.1f},{:.1f}H{:.1f}\"/>"
          "<text class=\"end\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
          tick.value == 0 ? "axis" : "grid", kLeft, y(tick.value), kRight, kLeft - 9,
          y(tick.value) + 4.5, tick.text);
    }
    if (plot_.kind == Plot::Kind::kBars) {
      for (std::size_t i = 0; i < plot_.categories.size(); ++i) {
        put("<text class=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", group_middle(i),
            kBottom + 20, safe(plot_.categories[i], 24));
      }
      return;
    }
    for (const CurveAxis::Tick& tick : frame_.x.ticks) {
      put("<text class=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x(tick.value),
          kBottom + 20, tick.text);
    }
  }

  void legend(std::size_t i) {
    put("<rect x=\"{:.1f}\" y=\"43\" width=\"11\" height=\"11\" fill=\"{}\"/>"
        "<text x=\"{:.1f}\" y=\"53\">{}</text>\n",
        legend_at_, color(i), legend_at_ + 16, safe(plot_.series[i].name, 24));
    legend_at_ += 40 + 7.1 * static_cast<double>(display_width(plot_.series[i].name));
  }

  double group_width() const {
    return (kRight - kLeft) /
           static_cast<double>(std::max<std::size_t>(1, plot_.categories.size()));
  }
  double group_middle(std::size_t category) const {
    return kLeft + (static_cast<double>(category) + 0.5) * group_width();
  }

  void bars(std::size_t i) {
    const double width = group_width() * 0.8 / static_cast<double>(plot_.series.size());
    for (std::size_t c = 0; c < plot_.series[i].y.size(); ++c) {
      const double value = plot_.series[i].y[c];
      if (!std::isfinite(value)) continue;
      const double left = group_middle(c) - group_width() * 0.4 + width * static_cast<double>(i);
      const double top = std::min(y(value), y(0));
      put("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>\n",
          left, top, std::max(0.5, width - 2), std::abs(y(0) - y(value)), color(i));
    }
  }

  void line(std::size_t i) {
    const Series& series = plot_.series[i];
    char move = 'M';
    put("<path class=\"line\" stroke=\"{}\" d=\"", color(i));
    for (std::size_t p = 0; p < series.y.size(); ++p) {
      if (!std::isfinite(series.y[p])) continue;
      put("{}{:.1f},{:.1f}", move, x(series.x[p]), y(series.y[p]));
      move = 'L';
    }
    put("\"/>\n");
  }

  const Plot& plot_;
  CurveFrame frame_;
  double legend_at_ = 16;
  std::string out_;
};

}  // namespace

std::string plot_svg(const Plot& plot) { return PlotWriter(plot).write(); }

}  // namespace muster
