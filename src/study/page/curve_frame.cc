#include "study/page/curve_frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/text/wording.h"

namespace muster {
namespace {

constexpr double kMax = 1e15;
constexpr double kMinSpan = 1e-9;

bool is_shown(double value) { return std::isfinite(value) && std::abs(value) <= kMax; }

// The smallest step of 1, 2 or 5 times a power of ten with at most `count` ticks in the span.
double round_step(double span, int count) {
  const double rough = span / std::max(1, count);
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double digit = rough / power;
  return power * (digit <= 1.0001 ? 1 : digit <= 2.0001 ? 2 : digit <= 5.0001 ? 5 : 10);
}

std::string tick_text(double value, double step, double top) {
  struct Unit {
    double from, size;
    const char* name;
  };
  constexpr Unit kUnits[] = {{1e12, 1e12, "T"}, {1e9, 1e9, "G"}, {1e6, 1e6, "M"}, {1e5, 1e3, "k"}};
  Unit unit = {0, 1, ""};
  for (const Unit& larger : kUnits) {
    if (top >= larger.from) {
      unit = larger;
      break;
    }
  }
  if (std::abs(value) < step / 2) return "0";
  const int decimals =
      std::clamp(-static_cast<int>(std::floor(std::log10(step / unit.size) + 1e-9)), 0, 12);
  const double shown = value / unit.size;
  if (decimals > 0) return fmt::format("{:.{}f}{}", shown, decimals, unit.name);
  const std::string sign = shown < 0 ? "-" : "";
  return sign + grouped(static_cast<std::uint64_t>(std::llround(std::abs(shown)))) + unit.name;
}

void add_ticks(CurveAxis& axis, double step) {
  const double top = std::max(std::abs(axis.low), std::abs(axis.high));
  const double slack = 1e-6;
  for (double i = std::ceil(axis.low / step - slack); i * step <= axis.high + slack * step; ++i) {
    axis.ticks.push_back({i * step, tick_text(i * step, step, top)});
  }
}

class Extent {
 public:
  void add(double value) {
    low_ = std::min(low_, value);
    high_ = std::max(high_, value);
  }
  CurveAxis axis() const {
    CurveAxis axis;
    axis.low = low_;
    axis.high = high_ - low_ < kMinSpan ? low_ + 1 : high_;
    return axis;
  }

 private:
  double low_ = 0, high_ = 0;
};

CurvePlot shown_part(CurvePlot plot) {
  std::erase_if(plot.points, [](const auto& p) { return !is_shown(p.x) || !is_shown(p.y); });
  std::erase_if(plot.line, [](const auto& p) { return !is_shown(p.x) || !is_shown(p.y); });
  std::erase_if(plot.marks, [](const auto& mark) { return !is_shown(mark.x); });
  std::ranges::stable_sort(plot.marks, {}, &CurvePlot::Mark::x);
  for (CurvePlot::Point& point : plot.points) {
    point.error = is_shown(point.error) ? std::abs(point.error) : 0;
  }
  return plot;
}

}  // namespace

CurveFrame curve_frame(const CurvePlot& plot, int x_ticks, int y_ticks) {
  CurveFrame frame;
  frame.plot = shown_part(plot);
  Extent x, y;
  for (const CurvePlot::Point& point : frame.plot.points) {
    x.add(point.x);
    y.add(point.y);
    y.add(point.y + point.error);  // The part of an error below zero needs no space.
  }
  for (const CurvePlot::Spot& spot : frame.plot.line) {
    x.add(spot.x);
    y.add(spot.y);
  }
  for (const CurvePlot::Mark& mark : frame.plot.marks) x.add(mark.x);
  frame.x = x.axis();
  frame.y = y.axis();
  const double step = round_step(frame.y.high - frame.y.low, y_ticks);
  frame.y.low = std::floor(frame.y.low / step + 1e-6) * step;
  frame.y.high = std::ceil(frame.y.high / step - 1e-6) * step;
  add_ticks(frame.y, step);
  add_ticks(frame.x, round_step(frame.x.high - frame.x.low, x_ticks));
  return frame;
}

}  // namespace muster
