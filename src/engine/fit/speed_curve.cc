#include "engine/fit/speed_curve.h"

#include <algorithm>
#include <cmath>

namespace muster {

namespace {

constexpr double kFlat = 0.02;       // Smaller relative differences are noise.
constexpr std::int64_t kStep = 10;   // Limits are multiples of 0.01 CPUs.
constexpr std::int64_t kDown = 4;    // Divisor of the lowest limit while the curve is flat.
constexpr double kNearPoint = 0.05;  // Minimum relative distance of a new point.
constexpr double kHeadroom = 1.05;   // For bursts: load varies, but the limit is constant.
constexpr double kNeedKnown = 0.15;  // Relative accuracy at which the need is known.

double as_double(std::int64_t value) { return static_cast<double>(value); }

double line_at(const CurvePoint& a, const CurvePoint& b, double cpu) {
  const double slope = (b.rate - a.rate) / as_double(b.cpu_milli - a.cpu_milli);
  return a.rate + slope * (cpu - as_double(a.cpu_milli));
}

// Returns the CPUs at which the line through a and b reaches `rate`.
std::int64_t crossing(const CurvePoint& a, const CurvePoint& b, double rate) {
  if (b.rate <= a.rate) return b.cpu_milli;
  const double part = (rate - a.rate) / (b.rate - a.rate);
  return a.cpu_milli +
         static_cast<std::int64_t>(std::ceil(part * as_double(b.cpu_milli - a.cpu_milli)));
}

struct Bend {
  double cpu = 0;
  double gap = 0;  // Upper minus lower bound at `cpu`, relative to the upper bound.
};

// Bounds between b and c: above their chord, below the line through a and b, and below the line
// through c and d. Without d: below c.
Bend bend_between(const CurvePoint& a, const CurvePoint& b, const CurvePoint& c,
                  const CurvePoint* d) {
  const double rise = (b.rate - a.rate) / as_double(b.cpu_milli - a.cpu_milli);
  const double fall = d == nullptr ? 0 : (d->rate - c.rate) / as_double(d->cpu_milli - c.cpu_milli);
  Bend bend;
  if (rise <= fall) return bend;  // No bend, or noise.
  const double from = as_double(b.cpu_milli);
  const double to = as_double(c.cpu_milli);
  bend.cpu = (c.rate - b.rate + rise * from - fall * to) / (rise - fall);
  bend.cpu = std::clamp(bend.cpu, from, to);
  const double most = std::min(b.rate + rise * (bend.cpu - from), c.rate + fall * (bend.cpu - to));
  if (most > 0) bend.gap = (most - line_at(b, c, bend.cpu)) / most;
  return bend;
}

}  // namespace

void SpeedCurve::add(const CurvePoint& point) {
  const auto place = std::lower_bound(
      points_.begin(), points_.end(), point.cpu_milli,
      [](const CurvePoint& each, std::int64_t cpu) { return each.cpu_milli < cpu; });
  if (place != points_.end() && place->cpu_milli == point.cpu_milli) {
    *place = point;
  } else {
    points_.insert(place, point);
  }
}

// Noise can make the curve fall. Neighbors then get their mean (pool adjacent violators).
std::vector<CurvePoint> SpeedCurve::smooth() const {
  struct Pool {
    double sum;
    std::size_t count;
    double mean() const { return sum / static_cast<double>(count); }
  };
  std::vector<Pool> pools;
  for (const CurvePoint& point : points_) {
    pools.push_back({point.rate, 1});
    while (pools.size() > 1 && pools[pools.size() - 2].mean() > pools.back().mean()) {
      const Pool last = pools.back();
      pools.pop_back();
      pools.back().sum += last.sum;
      pools.back().count += last.count;
    }
  }
  std::vector<CurvePoint> out = points_;
  std::size_t i = 0;
  for (const Pool& pool : pools) {
    for (std::size_t k = 0; k < pool.count; ++k) out[i++].rate = pool.mean();
  }
  return out;
}

double SpeedCurve::at(std::int64_t cpu_milli) const {
  const std::vector<CurvePoint> points = smooth();
  CurvePoint before;
  for (const CurvePoint& point : points) {
    if (cpu_milli <= point.cpu_milli) return line_at(before, point, as_double(cpu_milli));
    before = point;
  }
  return before.rate;
}

double SpeedCurve::best() const { return points_.empty() ? 0 : smooth().back().rate; }

bool SpeedCurve::is_flat() const {
  if (points_.size() < 2) return false;
  const std::vector<CurvePoint> points = smooth();
  return points[points.size() - 2].rate >= (1 - kFlat) * points.back().rate;
}

std::int64_t SpeedCurve::need() const {
  if (points_.empty()) return 0;
  const std::vector<CurvePoint> points = smooth();
  const double enough = (1 - kFlat) * points.back().rate;
  CurvePoint before;
  for (const CurvePoint& point : points) {
    if (point.rate >= enough) {
      const double least = as_double(crossing(before, point, enough));
      return std::min<std::int64_t>(points.back().cpu_milli, std::llround(kHeadroom * least));
    }
    before = point;
  }
  return points.back().cpu_milli;
}

std::optional<std::int64_t> SpeedCurve::next(std::int64_t full, std::int64_t least,
                                             double tolerance) const {
  if (points_.empty()) return full;
  const std::vector<CurvePoint> points = smooth();
  const CurvePoint& lowest = points.front();
  const double enough = (1 - kFlat) * points.back().rate;
  if (lowest.rate >= enough) {  // Flat so far: look for the bend below.
    const std::int64_t lower = std::max(least, lowest.cpu_milli / kDown / kStep * kStep);
    if (lower < lowest.cpu_milli) return lower;
    return std::nullopt;
  }
  CurvePoint before;
  Bend widest;
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    const CurvePoint& b = points[i];
    const CurvePoint& c = points[i + 1];
    const CurvePoint* d = i + 2 < points.size() ? &points[i + 2] : nullptr;
    Bend bend = bend_between(before, b, c, d);
    // The lowest CPU at which it may be fast enough; the chord gives the highest.
    const double soonest = before.cpu_milli < b.cpu_milli && b.rate > before.rate
                               ? static_cast<double>(crossing(before, b, enough))
                               : as_double(b.cpu_milli);
    before = b;
    const double room = kNearPoint * as_double(c.cpu_milli);
    const double from = as_double(b.cpu_milli) + room;
    const double to = as_double(c.cpu_milli) - room;
    if (from > to || bend.gap <= 0) continue;
    const bool has_need = b.rate < enough && c.rate >= enough;
    const bool need_open =
        has_need && as_double(crossing(b, c, enough)) > (1 + kNeedKnown) * soonest;
    const bool wide = bend.gap > std::max({tolerance, b.error, c.error});
    if (!wide && !need_open) continue;
    bend.cpu = std::clamp(bend.cpu, from, to);
    if (bend.gap > widest.gap) widest = bend;
  }
  if (widest.gap == 0) {
    // Below the first point the curve is assumed to be a line from zero. If the slope of the next
    // points contradicts this, it is higher there.
    const std::int64_t lower = std::max(least, lowest.cpu_milli / kDown / kStep * kStep);
    const double most = line_at(lowest, points[1], as_double(lower));
    const double chord = line_at(CurvePoint(), lowest, as_double(lower));
    if (lower < lowest.cpu_milli && most > 0 && (most - chord) / most > 2 * tolerance) return lower;
    return std::nullopt;
  }
  return std::llround(widest.cpu / as_double(kStep)) * kStep;
}

}  // namespace muster
