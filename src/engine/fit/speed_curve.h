#pragma once

// Steps a second by CPUs, measured at a few points: what is believed between them, what the job
// needs, and where it would tell most to measure next. A job that is given more CPU never trains
// slower, and gains less by each further one; so between two points the curve lies above their
// chord and below what their neighbours point to.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace muster {

struct CurvePoint {
  std::int64_t cpu_milli = 0;
  double rate = 0;   // Steps a second.
  double error = 0;  // As a part of it.
};

class SpeedCurve {
 public:
  // A point measured again takes the place of the old one.
  void add(const CurvePoint& point);
  std::span<const CurvePoint> points() const { return points_; }  // As measured, ascending.

  // What is believed: never falling, straight between points and from nothing at 0 CPUs to the
  // first, flat beyond the last.
  double at(std::int64_t cpu_milli) const;
  double best() const;
  // Whether the last point is hardly faster than the one before it: more CPU would be of no use.
  bool is_flat() const;
  // The least CPU with which it is as fast as it gets, but for hundredths that are noise, and a
  // twentieth more.
  std::int64_t need() const;

  // Beginning with `full`: what to measure next, or nothing when the curve is known to within
  // `tolerance`. Never below `least`.
  std::optional<std::int64_t> next(std::int64_t full, std::int64_t least, double tolerance) const;

 private:
  std::vector<CurvePoint> smooth() const;

  std::vector<CurvePoint> points_;
};

}  // namespace muster
