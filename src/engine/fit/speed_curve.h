#pragma once

// Steps per second as a function of CPUs, measured at a few points. The curve is assumed to be
// rising and concave. So between two points it lies above their chord and below the lines through
// their neighbors.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace muster {

struct CurvePoint {
  std::int64_t cpu_milli = 0;
  double rate = 0;   // Steps per second.
  double error = 0;  // Relative error of the rate.
};

class SpeedCurve {
 public:
  // Adds a point, or replaces the one with equal cpu_milli.
  void add(const CurvePoint& point);
  std::span<const CurvePoint> points() const { return points_; }  // As measured, ascending.

  // Estimated steps per second: never falling, linear between points and from zero to the first
  // point, constant after the last.
  double at(std::int64_t cpu_milli) const;
  double best() const;
  // True if the last point is hardly faster than the one before it, so more CPU does not help.
  bool is_flat() const;
  // Minimum CPU for full speed, within 2% (noise), plus 5% headroom.
  std::int64_t need() const;

  // Returns the next CPU limit to measure, `full` first and never below `least`. Returns nullopt
  // when the curve is known within `tolerance`.
  std::optional<std::int64_t> next(std::int64_t full, std::int64_t least, double tolerance) const;

 private:
  std::vector<CurvePoint> smooth() const;

  std::vector<CurvePoint> points_;
};

}  // namespace muster
